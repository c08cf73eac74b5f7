import type { ClientCall } from '../../../store/runs/tool-ledger.ts';
import { formatCallId } from '../call-ids.ts';
import { type CompatTask, formatAnswer, toRunError } from '../runs.ts';

export const toSeconds = (time: string) => Math.floor(Date.parse(time) / 1_000);

/** The prefix of the id that a client uses to look up the run. */
const CHAT_ID = 'chatcmpl-';
export const RESPONSE_ID = 'resp_';
export const CONVERSATION_ID = 'conv_';
export const MESSAGE_ID = 'msg_';

export const parseTaskId = (id: string) => id.replace(/^(chatcmpl-|resp_)/, '');

function getUsage({ usage }: CompatTask) {
  const { total_in, total_out, cache_read } = usage as { total_in: number; total_out: number; cache_read: number };
  return { total_in, total_out, cache_read, total: total_in + total_out };
}

function toChatUsage(task: CompatTask) {
  const { total_in, total_out, cache_read, total } = getUsage(task);
  const details = { prompt_tokens_details: { cached_tokens: cache_read } };
  return { prompt_tokens: total_in, completion_tokens: total_out, total_tokens: total, ...details };
}

const toToolCall = ({ call_id, name, arguments: args }: ClientCall, task_id: string) => ({
  id: formatCallId(task_id, call_id),
  type: 'function' as const,
  function: { name, arguments: args },
});

/** Returns the finish reason of a completion: calls that the client has to execute come first. */
export const findFinishReason = ({ truncated }: CompatTask, calls: readonly ClientCall[]) =>
  calls.length > 0 ? ('tool_calls' as const) : truncated ? ('length' as const) : ('stop' as const);

export function toChatCompletion(task: CompatTask, model: string, calls: readonly ClientCall[] = []) {
  const asks = calls.length > 0;
  const tool_calls = calls.map((call) => toToolCall(call, task.id));
  const message = {
    role: 'assistant' as const,
    content: asks ? null : formatAnswer(task),
    refusal: null,
    ...(asks ? { tool_calls } : {}),
  };
  return {
    id: `${CHAT_ID}${task.id}`,
    object: 'chat.completion' as const,
    created: toSeconds(task.created_at),
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: findFinishReason(task, calls) }],
    usage: toChatUsage(task),
  };
}

/** Creates the chunks of one streamed completion. */
export function createChunks({ id: task_id, created_at }: CompatTask, model: string) {
  const head = {
    id: `${CHAT_ID}${task_id}`,
    object: 'chat.completion.chunk',
    created: toSeconds(created_at),
    model,
  };
  const choice = (delta: object, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  });
  return {
    first: () => choice({ role: 'assistant', content: '' }),
    text: (content: string) => choice({ content }),
    calls: (calls: readonly ClientCall[]) =>
      choice({ tool_calls: calls.map((call, index) => ({ index, ...toToolCall(call, task_id) })) }),
    last: (finish_reason: ReturnType<typeof findFinishReason>) => choice({}, finish_reason),
    usage: (task: CompatTask) => ({ ...head, choices: [], usage: toChatUsage(task) }),
  };
}

const STATUSES = {
  pending: 'queued',
  running: 'in_progress',
  waiting: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  halted: 'cancelled',
} as const;

const toOutputMessage = (task_id: string, text: string, status = 'completed') => ({
  id: `${MESSAGE_ID}${task_id}`,
  type: 'message',
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text, annotations: [] }],
});

const toFunctionCall = ({ call_id, name, arguments: args }: ClientCall, task_id: string) => ({
  id: `fc_${task_id}_${call_id}`,
  type: 'function_call',
  call_id: formatCallId(task_id, call_id),
  name,
  arguments: args,
  status: 'completed',
});

/** Returns a task as a response. With calls that its client has to execute, the response is complete although the run is not. */
export function toResponse(task: CompatTask, model: string, calls: readonly ClientCall[] = []) {
  const { total_in, total_out, cache_read, total } = getUsage(task);
  const done = task.status === 'completed';
  const run_error = task.status === 'failed' ? toRunError(task) : null;
  const is_cut = done && task.truncated;
  return {
    id: `${RESPONSE_ID}${task.id}`,
    object: 'response' as const,
    created_at: toSeconds(task.created_at),
    model,
    status: calls.length > 0 ? ('completed' as const) : is_cut ? ('incomplete' as const) : STATUSES[task.status],
    error: run_error && { code: 'server_error', message: run_error.message },
    incomplete_details: is_cut ? { reason: 'max_output_tokens' as const } : null,
    instructions: null,
    metadata: {},
    conversation: task.conversation_id ? { id: `${CONVERSATION_ID}${task.conversation_id}` } : null,
    parallel_tool_calls: true,
    temperature: null,
    top_p: null,
    tool_choice: 'auto',
    tools: [],
    output: done
      ? [toOutputMessage(task.id, formatAnswer(task), is_cut ? 'incomplete' : 'completed')]
      : calls.map((call) => toFunctionCall(call, task.id)),
    usage: {
      input_tokens: total_in,
      output_tokens: total_out,
      total_tokens: total,
      input_tokens_details: { cached_tokens: cache_read },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  };
}

interface ResponseFacts {
  started: CompatTask;
  model: string;
  /** The client has received the events up to this number. */
  after: number;
  /** Returns the task and its whole text once the run has ended. `whole_text` is the text, or null if it was too long to keep. */
  finish(whole_text: string | null): Promise<{ task: CompatTask; text: string; calls: ClientCall[] } | null>;
}

/** The longest text that is kept in memory while it is streamed, in characters. */
const KEPT_CHARACTERS = 64 * 1024;

/**
 * Yields the events of one streamed response, with rising numbers. The number of a piece of text is that of its last character:
 * the record may cut the text differently when a client resumes, and a piece that the client has in part is sent without that
 * part. If `finish` returns null, the events stop after the text.
 */
export async function* streamResponseEvents(
  pieces: AsyncIterable<string>,
  { started, finish, model, after }: ResponseFacts,
): AsyncGenerator<Record<string, unknown> & { type: string; sequence_number: number }> {
  let sequence_number = 0;
  const event = (type: string, data: object) => ({ type, sequence_number: sequence_number++, ...data });
  const item_id = `${MESSAGE_ID}${started.id}`;
  const place = { item_id, output_index: 0, content_index: 0 };
  yield event('response.created', { response: toResponse(started, model) });
  yield event('response.in_progress', { response: toResponse(started, model) });
  yield event('response.output_item.added', {
    output_index: 0,
    item: { ...toOutputMessage(started.id, '', 'in_progress'), content: [] },
  });
  yield event('response.content_part.added', { ...place, part: { type: 'output_text', text: '', annotations: [] } });
  const before_text = sequence_number;
  let length = 0;
  let full_text: string | null = '';
  for await (const piece of pieces) {
    const received = after + 1 - before_text - length;
    length += piece.length;
    full_text = full_text !== null && length <= KEPT_CHARACTERS ? full_text + piece : null;
    sequence_number = before_text + length - 1;
    yield event('response.output_text.delta', { ...place, delta: piece.slice(Math.max(0, received)), logprobs: [] });
  }
  const end = await finish(full_text);
  if (!end) return;
  const { task, text, calls } = end;
  yield event('response.output_text.done', { ...place, text, logprobs: [] });
  yield event('response.content_part.done', { ...place, part: { type: 'output_text', text, annotations: [] } });
  const is_cut = task.status === 'completed' && task.truncated;
  const item = toOutputMessage(task.id, text, is_cut ? 'incomplete' : 'completed');
  yield event('response.output_item.done', { output_index: 0, item });
  for (const [index, call] of calls.entries()) {
    const at = { output_index: index + 1 };
    const item = toFunctionCall(call, task.id);
    yield event('response.output_item.added', { ...at, item: { ...item, arguments: '', status: 'in_progress' } });
    yield event('response.function_call_arguments.delta', { ...at, item_id: item.id, delta: item.arguments });
    yield event('response.function_call_arguments.done', { ...at, item_id: item.id, name: item.name, arguments: item.arguments });
    yield event('response.output_item.done', { ...at, item });
  }
  const is_complete = calls.length > 0 || (task.status === 'completed' && !is_cut);
  const kind = is_complete ? 'completed' : task.status === 'failed' ? 'failed' : 'incomplete';
  yield event(`response.${kind}`, { response: toResponse(task, model, calls) });
}
