import { z } from 'zod';

const Part = z.looseObject({ type: z.string(), text: z.string().optional(), refusal: z.string().optional() });
const Content = z.union([z.string(), z.array(Part)]).nullish();
const Message = z.looseObject({ role: z.string(), content: Content });

const EFFORTS = ['minimal', 'low', 'medium', 'high'] as const;
const Effort = z.enum(EFFORTS).nullish();

export const ChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  reasoning_effort: Effort,
});

export const ResponsesRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), z.array(Message).min(1)]),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  background: z.boolean().nullish(),
  reasoning: z.looseObject({ effort: Effort }).nullish(),
});

type MessageIn = z.output<typeof Message>;

/** Text of a message; null when it holds what a prompt cannot, such as an image. */
function textOf({ content }: MessageIn): string | null {
  if (typeof content === 'string') return content;
  const parts = content ?? [];
  if (parts.some(({ text, refusal }) => text === undefined && refusal === undefined)) return null;
  return parts.map(({ text, refusal }) => text ?? refusal).join('');
}

/** A conversation as one prompt: the last message as it is, what came before it as context. Null when it is not all text. */
export function promptOf(messages: MessageIn[]): string | null {
  const read = messages.map((message) => ({ role: message.role, text: textOf(message) }));
  if (read.some(({ text }) => text === null)) return null;
  const last = read.at(-1)?.text ?? '';
  if (read.length === 1) return last;
  const before = read.slice(0, -1).map(({ role, text }) => `<message role="${role}">\n${text}\n</message>`);
  return `${before.join('\n')}\n\n${last}`;
}
