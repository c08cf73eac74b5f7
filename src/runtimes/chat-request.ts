import { createHash } from 'node:crypto';
import type OpenAI from 'openai';
import type { SetCallSettings } from '../contracts/call-settings.ts';
import { isImage, type ModelFile } from '../domain/attachments.ts';
import type { Dialect } from '../domain/dialect.ts';
import { SOUNDS } from '../domain/result-files.ts';
import { divideSettings } from '../domain/sent-settings.ts';
import type { SentMessage } from '../domain/transcript.ts';
import type { ReplyExtra } from './chat-reply.ts';
import type { Exchange } from './runtime.ts';

type Message = OpenAI.Chat.Completions.ChatCompletionMessageParam;
type Request = OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming;

/** An exchange as a request for streamed chat completions. */
export function chatRequest(exchange: Exchange, model: string, dialect: Dialect): Request {
  const { instructions, transcript, tools, reasoning_effort, call_settings = {} } = exchange;
  const system: Message[] = instructions ? [{ role: 'system', content: instructions }] : [];
  const placed_messages = placeInstructions(transcript);
  const sent_messages = dialect.strict_calls ? withinResults(placed_messages) : placed_messages;
  return {
    model,
    messages: [
      ...system,
      ...sent_messages.flatMap((message, index) => [
        toMessage(message, dialect),
        ...(dialect.strict_calls || sent_messages[index + 1]?.role === 'tool'
          ? []
          : showResultFiles(sent_messages.slice(0, index + 1))),
      ]),
    ],
    stream: true as const,
    ...(dialect.asks_usage ? { stream_options: { include_usage: true } } : {}),
    ...(tools.length > 0
      ? {
          tools: tools.map(({ name, description, parameters }) => ({
            type: 'function' as const,
            // Gemini refuses an object without properties, and takes no parameters at all instead.
            function: { name, description, ...(parameters.properties === undefined ? {} : { parameters }) },
          })),
          // Only the tools of which one must be called are offered, and some endpoints know no other word.
          ...(exchange.must_call ? { tool_choice: 'required' as const } : {}),
        }
      : {}),
    ...(reasoning_effort ? { reasoning_effort: reasoning_effort as 'low' } : {}),
    ...(exchange.cache_key && dialect.own_fields.includes('prompt_cache_key') ? { prompt_cache_key: exchange.cache_key } : {}),
    // Many endpoints refuse JSON mode together with tools.
    ...(tools.length === 0 ? responseFormat(exchange) : {}),
    ...toRequestSettings(divideSettings(call_settings, { model, takes: dialect.own_fields }).sent, {
      dialect,
      has_tools: tools.length > 0,
    }),
  };
}

/**
 * Requests the output format. The instructions ask for the same, for endpoints that cannot guarantee it. Endpoints accept schemas
 * of objects only.
 */
function responseFormat({ wants_json, output_schema }: Exchange) {
  const { type, ...rules } = output_schema ?? {};
  if (output_schema && type === 'object' && Object.keys(rules).length > 0)
    return { response_format: { type: 'json_schema' as const, json_schema: { name: 'answer', schema: output_schema } } };
  return wants_json || type === 'object' ? { response_format: { type: 'json_object' as const } } : {};
}

/** Endpoints refuse `parallel_tool_calls` without tools. */
function toRequestSettings(
  { temperature, top_p, max_output_tokens, stop, parallel_tool_calls, service_tier, verbosity }: SetCallSettings,
  { dialect, has_tools }: { dialect: Dialect; has_tools: boolean },
): Partial<Request> {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(top_p === undefined ? {} : { top_p }),
    ...(max_output_tokens === undefined ? {} : { [dialect.max_tokens]: max_output_tokens }),
    ...(stop === undefined ? {} : { stop }),
    ...(parallel_tool_calls === undefined || !has_tools ? {} : { parallel_tool_calls }),
    ...(service_tier === undefined ? {} : { service_tier }),
    ...(verbosity === undefined ? {} : { verbosity }),
  };
}

const withFiles = (text: string, files: readonly ModelFile[]): Message => ({
  role: 'user',
  content: [{ type: 'text', text }, ...files.map(toContentPart)],
});

/**
 * Returns the message with the files of the results that the messages end with. Results themselves may have texts only, and no
 * message may stand between two results.
 */
function showResultFiles(messages: readonly SentMessage[]): Message[] {
  const from = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  const shown_files = messages.slice(from).flatMap(({ files = [] }) => files);
  if (shown_files.length === 0) return [];
  return [withFiles(`Returned by the tools: ${shown_files.map(({ name }) => name).join(', ')}`, shown_files)];
}

function toContentPart(file: ModelFile): OpenAI.Chat.Completions.ChatCompletionContentPart {
  const url = `data:${file.media_type};base64,${file.data}`;
  const format = SOUNDS[file.media_type];
  if (format) return { type: 'input_audio', input_audio: { data: file.data, format } };
  if (isImage(file)) return { type: 'image_url', image_url: { url } };
  return { type: 'file', file: { filename: file.name, file_data: url } };
}

function toMessage({ role, content, tool_calls, call_id, extra, files = [] }: SentMessage, dialect: Dialect): Message {
  const toVendorId = (id: string) => (dialect.strict_calls ? strictCallId(id) : id);
  if (role === 'tool') return { role, content, tool_call_id: toVendorId(call_id!) };
  if (role === 'user' && files.length > 0) return withFiles(content, files);
  if (role === 'user' || role === 'system') return { role, content };
  const { calls: parts, tool_use_ids: _, reasoning: __, thought, reasoning_content, ...own } = (extra ?? {}) as KeptExtra;
  const calls = tool_calls?.map((call, index) => ({
    id: toVendorId(call.call_id),
    type: 'function' as const,
    function: { name: call.name || NAMELESS, arguments: toValidArguments(call.arguments) },
    ...(parts?.[index] ?? (dialect.signed_calls && !parts && index === 0 ? UNSIGNED : {})),
  }));
  return {
    role,
    content: withThought(content, dialect.thinks_in_text ? thought : undefined) || null,
    ...(calls?.length ? { tool_calls: calls } : {}),
    ...toReasoning(reasoning_content, dialect, calls !== undefined && calls.length > 0),
    ...own,
  };
}

/** An empty text counts as missing for some vendors, a blank for none. */
function toReasoning(reasoning_content: string | undefined, { reasoning }: Dialect, has_calls: boolean) {
  if (reasoning === 'none') return {};
  if (reasoning_content) return { reasoning_content };
  return reasoning === 'required' && has_calls ? { reasoning_content: ' ' } : {};
}

/** What is kept with a reply, of which `reasoning` is for people. */
type KeptExtra = ReplyExtra & { tool_use_ids?: unknown; reasoning?: string };

const withThought = (content: string, thought: string | undefined) =>
  thought ? `<think>\n${thought}\n</think>\n\n${content}` : content;

/** The vendor's mark for a call that another model made. */
const UNSIGNED = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } };

/** Many chat templates refuse a message of the system after the beginning, so the context of a later turn is sent as a user's. */
function placeInstructions(transcript: readonly SentMessage[]): readonly SentMessage[] {
  const begin = transcript.findIndex(({ role }) => role !== 'system');
  return transcript.map((message, index) =>
    message.role === 'system' && message.turn !== undefined && index > begin ? { ...message, role: 'user' } : message,
  );
}

/** The answer of a turn that ended with the results of tools, for endpoints that require one before the next prompt. */
const UNANSWERED = '(The run ended before it gave an answer.)';

/**
 * Adds a text that a user or the system wrote right after a result to that result. A new turn does not belong to the result: an answer is put
 * between the two.
 */
function withinResults(transcript: readonly SentMessage[]): SentMessage[] {
  const messages: SentMessage[] = [];
  for (const message of transcript) {
    const last = messages.at(-1);
    const follows_result = last?.role === 'tool' && (message.role === 'user' || message.role === 'system');
    if (follows_result && message.turn !== last.turn) {
      const { step, position, turn } = last;
      const blank = { tool_calls: null, call_id: null, extra: null };
      messages.push({ ...blank, step, position, turn, role: 'assistant', kind: 'partial', content: UNANSWERED }, message);
    } else if (follows_result) messages[messages.length - 1] = { ...last, content: `${last.content}\n\n${message.content}` };
    else messages.push(message);
  }
  return messages;
}

/** Endpoints refuse an empty name in the history. The call's result has already reported the error to the model. */
const NAMELESS = 'unnamed';

/** Wraps invalid arguments in valid JSON, because endpoints refuse a history they cannot parse. */
function toValidArguments(text: string): string {
  if (text.trim() === '') return '{}';
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify({ not_valid_json: text });
  }
}

const OWN = /^(\d+)-(\d+)$/;

/** Returns a call's id as nine letters and digits: the same for the same call, and a different one for every other call. */
export function strictCallId(call_id: string): string {
  const [, step, index] = OWN.exec(call_id) ?? [];
  const id = step && index ? `${base36(step).padStart(6, '0')}${base36(index).padStart(3, '0')}` : '';
  return id.length === 9 ? id : createHash('sha256').update(call_id).digest('hex').slice(0, 9);
}

const base36 = (digits: string) => Number(digits).toString(36);
