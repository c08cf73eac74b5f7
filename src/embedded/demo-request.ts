import { z } from 'zod';
import type { Schema } from './demo-arguments.ts';

const Content = z.union([z.string(), z.array(z.looseObject({ type: z.string(), text: z.string().optional() })), z.null()]);

const Message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: Content.optional(),
  tool_call_id: z.string().optional(),
  tool_calls: z.array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string() }).optional() })).nullish(),
});
export type Message = z.output<typeof Message>;

const Tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1), parameters: z.custom<Schema>((it) => typeof it === 'object').nullish() }),
});

const ResponseFormat = z.looseObject({
  type: z.string(),
  json_schema: z.looseObject({ schema: z.custom<Schema>((it) => typeof it === 'object').optional() }).optional(),
});

/** The part of a chat completion request that the demo model reads; other fields are accepted and ignored. */
export const DemoRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  tools: z.array(Tool).nullish(),
  tool_choice: z.union([z.string(), z.looseObject({ function: z.looseObject({ name: z.string() }).optional() })]).nullish(),
  response_format: ResponseFormat.nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
});
export type DemoRequest = z.output<typeof DemoRequest>;

export const EmbeddingRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(z.string()).min(1)]),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

export const messageText = ({ content }: Message): string =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');

export interface DemoConversation {
  prompt: string;
  /** The results of the tools that were called since the prompt. */
  results: { name: string; text: string }[];
}

/** Returns the last prompt and what followed it. */
export function toConversation(messages: readonly Message[]): DemoConversation {
  const begin = findLastPrompt(messages);
  const later_messages = messages.slice(begin + 1);
  const names = new Map(
    later_messages.flatMap((it) => it.tool_calls ?? []).map((call) => [call.id, call.function?.name ?? 'unnamed']),
  );
  const answers = later_messages.filter((it) => it.role === 'tool');
  return {
    prompt: begin < 0 ? '' : messageText(messages[begin] as Message),
    results: answers.map((it) => ({ name: names.get(it.tool_call_id ?? '') ?? 'unnamed', text: messageText(it) })),
  };
}

/**
 * Finds the last prompt. A user message right after tool results that quotes the prompt before it is a reminder of the goal,
 * not a new prompt.
 */
function findLastPrompt(messages: readonly Message[]): number {
  let last_prompt = -1;
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'user') continue;
    const opening = last_prompt < 0 ? '' : messageText(messages[last_prompt] as Message).slice(0, 100);
    const reminds = messages[index - 1]?.role === 'tool' && opening !== '' && messageText(message).includes(opening);
    if (!reminds) last_prompt = index;
  }
  return last_prompt;
}
