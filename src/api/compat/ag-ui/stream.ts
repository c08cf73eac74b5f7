import type { SseFrame } from '../../http/sse.ts';
import { formatCallId } from '../call-ids.ts';
import type { AskedCall, Receipt, RunPart, RunUsage } from '../projection/parts.ts';
import { CAUGHT_UP, type RunRecord } from '../projection/read-record.ts';
import type { CallRules } from '../projection/track-calls.ts';
import type { ReceiptRules } from '../projection/track-receipts.ts';
import { createRunTracker } from '../projection/track-run.ts';
import { type AgUiEvent, createEvents } from './events.ts';
import { toInterrupt } from './interrupts.ts';
import { type AgUiMessage, type AgUiPlace, createMessages } from './messages.ts';

const PROTOCOL_VERSION = '1.0';

export interface AgUiStream extends AgUiPlace, CallRules, ReceiptRules {
  thread_id: string;
  /** The run of the client: one request, of which several may belong to one task. */
  run_id: string;
  /** The messages of the thread before those that the task makes, with its prompt. */
  earlier: readonly AgUiMessage[];
  /**
   * True for a client that continues the task: it gets a snapshot of the messages before the step in progress, then that step from its
   * beginning, because clients exist that take the rest of a message for the whole. False for one that has sent the prompt: it gets
   * everything piece by piece.
   */
  resumed: boolean;
  /** True for a client that has answered what the run waited for. Its snapshot has all that was there when the run began to wait. */
  has_answered?: boolean;
  /** A message of the client that waits for the task, with the id of its receipt. It is the last one of each snapshot until the task reads it. Absent: none. */
  waiting?: AgUiMessage | undefined;
}

/** The task that gets a message when another one ends, and the messages so far, without that one. */
export interface PassedOn {
  task_id: string;
  earlier: AgUiMessage[];
}

/** The first event of a run of the client. */
export const startRun = ({ thread_id, run_id }: Pick<AgUiStream, 'thread_id' | 'run_id'>): SseFrame => ({
  data: { type: 'RUN_STARTED', threadId: thread_id, runId: run_id, protocolVersion: PROTOCOL_VERSION },
});

/**
 * Streams a task as a run of AG-UI, after its first event. The number of an event is sent with the last event of the protocol that it
 * makes. Ends when the task has ended, or when it rests until somebody answers: with interrupts, or with calls that the client executes.
 * Without either, the record ended early, and the client has to connect again; or the message that waits is passed on to the returned
 * task, whose stream continues the run. Null: it is not.
 */
export async function* streamAgUi(record: RunRecord, stream: AgUiStream): AsyncGenerator<SseFrame, PassedOn | null> {
  const { task_id, thread_id, run_id, earlier, resumed, has_answered, sent } = stream;
  const tracker = createRunTracker(stream);
  const events = createEvents(stream);
  const messages = createMessages(stream);
  const place = { threadId: thread_id, runId: run_id };
  let { waiting } = stream;
  const snapshot = (count?: number): AgUiEvent => ({
    type: 'MESSAGES_SNAPSHOT',
    messages: [...earlier, ...messages.list(count), ...(waiting ? [waiting] : [])],
  });
  const receipts = new Map<string, Receipt>();
  /** How many messages the snapshot of a client that continues has, and the events after those. */
  let before = 0;
  let since: AgUiEvent[] = [];
  let usage: RunUsage | null = null;
  let usage_before: RunUsage | null = null;
  let last = 0;
  let is_live = false;
  const finish = (parts: readonly RunPart[]) => listEndEvents(parts, { place, usage: subtractUsage(usage, usage_before) });

  function convert(part: RunPart): AgUiEvent[] {
    messages.add(part);
    if (part.kind === 'usage') usage = part.usage;
    const made = events.convert(part);
    if (part.kind === 'reset') return [...made, snapshot()];
    if (part.kind !== 'receipt') return made;
    receipts.set(part.receipt.message_id, part.receipt);
    if (part.receipt.message_id !== waiting?.id || part.receipt.state === 'pending') return made;
    waiting = undefined;
    // The client has the message behind everything that was written since it was sent.
    return part.receipt.state === 'steered' ? [...made, snapshot()] : made;
  }

  /** Lists the receipts of messages that still wait, and of the one that the client has sent. */
  const listReceipts = (): AgUiEvent[] =>
    [...receipts.values()]
      .filter(({ state, message_id }) => state === 'pending' || message_id === sent?.message_id)
      .flatMap((receipt) => events.convert({ kind: 'receipt', receipt }));

  for await (const event of record) {
    if (event === CAUGHT_UP) {
      is_live = true;
      if (resumed) {
        usage_before = usage;
        // A message that waits has to be the last one.
        const so_far = waiting ? [snapshot(), ...events.reopen()] : [snapshot(before), ...since];
        yield* toFrames(last, [...so_far, ...listReceipts()]);
      }
    } else {
      last = event.seq;
      const parts = tracker.read(event);
      const is_shown = is_live || !resumed;
      if (!is_shown && parts[0]?.kind === 'step') {
        events.close();
        before = messages.count();
        since = [];
      }
      const converted = parts.flatMap(convert);
      if (!is_shown) since.push(...converted);
      const end = finish(parts);
      const receiver = end && waiting ? receipts.get(waiting.id)?.task_id : undefined;
      if (receiver !== undefined && receiver !== task_id) {
        yield* toFrames(last, is_shown ? [...converted, ...events.close()] : [snapshot()]);
        return { task_id: receiver, earlier: [...earlier, ...messages.list()] };
      }
      if (is_shown) yield* toFrames(last, [...converted, ...(end ? [...events.close(), ...end] : [])]);
      else if (end) yield* toFrames(last, [snapshot(), ...listReceipts(), ...end]);
      if (end) return null;
    }
    const asked = is_live || has_answered ? tracker.findRest() : null;
    if (!asked) continue;
    if (!is_live) {
      before = messages.count();
      since = events.reopen();
      continue;
    }
    const outcome = toOutcome(task_id, asked);
    const finished = { type: 'RUN_FINISHED', ...place, outcome, ...toTokenUsage(subtractUsage(usage, usage_before)) };
    // The specification asks for the messages before an interrupt. A client that has just come has them.
    const messages_before = outcome.type === 'interrupt' && !(resumed && event === CAUGHT_UP) ? [snapshot()] : [];
    yield* toFrames(last, [...events.close(), ...messages_before, finished]);
    return null;
  }
  return null;
}

/** The run of a request that is refused. A client shows its message; of another status than 200, it shows the body as it is. */
export async function* refuseRun(
  { message, code }: { message: string; code: string },
  place: Pick<AgUiStream, 'thread_id' | 'run_id'>,
): AsyncGenerator<SseFrame> {
  yield startRun(place);
  yield { data: { type: 'RUN_ERROR', message, code } };
}

const toFrames = (seq: number, events: readonly AgUiEvent[]): SseFrame[] =>
  events.map((data, index) => (index === events.length - 1 ? { id: seq, data } : { data }));

/** Interrupts come first: a run with an interrupt cannot also name calls that the client executes, and names them when it continues. */
function toOutcome(task_id: string, asked: readonly AskedCall[]) {
  const interrupts = asked.filter(({ ask }) => ask !== 'client').map((call) => toInterrupt(task_id, call));
  if (interrupts.length > 0) return { type: 'interrupt', interrupts };
  return { type: 'success', pendingToolCallIds: asked.map(({ call_id }) => formatCallId(task_id, call_id)) };
}

interface Ending {
  place: { threadId: string; runId: string };
  usage: RunUsage | null;
}

/** Returns the event that ends the run, if one of these parts does; null otherwise. */
function listEndEvents(parts: readonly RunPart[], { place, usage }: Ending): AgUiEvent[] | null {
  const used = toTokenUsage(usage);
  const restored = parts.find((part) => part.kind === 'restored');
  if (restored) return [{ type: 'RUN_ERROR', message: restored.detail, code: 'restored', ...used }];
  const end = parts.find((part) => part.kind === 'end');
  if (!end) return null;
  const { status, error, error_code } = end;
  if (status === 'failed')
    return [{ type: 'RUN_ERROR', message: error ?? 'The run failed', ...(error_code ? { code: error_code } : {}), ...used }];
  const outcome = { type: status === 'halted' ? 'cancelled' : 'success' };
  return [{ type: 'RUN_FINISHED', ...place, outcome, ...used }];
}

/** A client adds up the usage of its runs, of which each has its own share of the task. */
function subtractUsage(usage: RunUsage | null, before: RunUsage | null): RunUsage | null {
  if (!usage || !before) return usage;
  return {
    input_tokens: usage.input_tokens - before.input_tokens,
    output_tokens: usage.output_tokens - before.output_tokens,
    cache_read: usage.cache_read - before.cache_read,
    cache_write: usage.cache_write - before.cache_write,
    cost: usage.cost - before.cost,
  };
}

function toTokenUsage(usage: RunUsage | null) {
  if (!usage) return {};
  const { input_tokens, output_tokens, cache_read, cache_write } = usage;
  return {
    usage: [
      {
        inputTokens: input_tokens,
        outputTokens: output_tokens,
        totalTokens: input_tokens + output_tokens,
        cachedInputTokens: cache_read,
        cacheWriteInputTokens: cache_write,
      },
    ],
  };
}
