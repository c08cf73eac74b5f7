import type OpenAI from 'openai';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { Exchange } from './runtime.ts';

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;

/** An exchange as a request for streamed chat completions. */
export function chatRequest(exchange: Exchange, model: string) {
  const { instructions, transcript, tools, reasoning_effort } = exchange;
  const system: Message[] = instructions ? [{ role: 'system', content: instructions }] : [];
  return {
    model,
    messages: [...system, ...transcript.map(messageOf)],
    stream: true as const,
    stream_options: { include_usage: true },
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, parameters }) => ({
            type: 'function' as const,
            function: { name, description, parameters },
          })),
        }
      : {}),
    ...(reasoning_effort ? { reasoning_effort: reasoning_effort as 'low' } : {}),
    // Many endpoints refuse JSON mode together with tools.
    ...(tools.length === 0 ? responseFormat(exchange) : {}),
  };
}

/** The instructions ask for the same, for endpoints that cannot guarantee it. They take schemas of objects only. */
function responseFormat({ wants_json, output_schema }: Exchange) {
  const { type, ...rules } = output_schema ?? {};
  if (output_schema && type === 'object' && Object.keys(rules).length > 0)
    return { response_format: { type: 'json_schema' as const, json_schema: { name: 'answer', schema: output_schema } } };
  return wants_json || type === 'object' ? { response_format: { type: 'json_object' as const } } : {};
}

function messageOf({ role, content, tool_calls, call_id, extra }: TranscriptMessage): Message {
  if (role === 'tool') return { role, content, tool_call_id: call_id ?? '' };
  if (role === 'user' || role === 'system') return { role, content };
  const calls = tool_calls?.map((call) => ({
    id: call.call_id,
    type: 'function' as const,
    function: { name: call.name || NAMELESS, arguments: readable(call.arguments) },
  }));
  return { role, content: content || null, ...(calls?.length ? { tool_calls: calls } : {}), ...(extra as object | null) };
}

/** Endpoints refuse an empty name in the history. The call's result has already reported the error to the model. */
const NAMELESS = 'unnamed';

/** Wraps invalid arguments in valid JSON, because endpoints refuse a history they cannot parse. */
function readable(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify({ not_valid_json: text });
  }
}
