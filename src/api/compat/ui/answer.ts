import type { SseFrame } from '../../http/sse.ts';
import type { AnsweringTurn } from '../front-end-turns.ts';
import { CAUGHT_UP, type RunRecord } from '../projection/read-record.ts';
import { createRunTracker } from '../projection/track-run.ts';
import { toReceiptChunk } from './chunks.ts';
import { isAtRest, streamUiMessage, type UiStream } from './stream.ts';

interface OpenedRun {
  record: RunRecord;
  place: Omit<UiStream, 'after'>;
}
type OpenRun = (task_id: string) => Promise<OpenedRun>;

/** Streams the answer to a request of `useChat`. */
export async function* answerUi(turn: AnsweringTurn, openRun: OpenRun): AsyncGenerator<SseFrame> {
  const { task_id, message_id = task_id, after } = turn;
  const reader = yield* followMessage({ message_id, task_id }, openRun);
  const { record, place } = await openRun(reader);
  yield* streamUiMessage(record, { ...place, after });
}

/**
 * Follows a message that was sent to a working run, from run to run, and streams its receipts: a stream has one message of the assistant,
 * so that it cannot begin before it is known which one answers. Returns the run that has read it, or that begins with it. If none does, it
 * is the last one that the message has waited for, once that has ended, or waits for what the client answers.
 */
async function* followMessage(
  { message_id, task_id }: { message_id: string; task_id: string },
  openRun: OpenRun,
): AsyncGenerator<SseFrame, string> {
  const next = task_id === message_id ? null : yield* followWithin(await openRun(task_id), message_id);
  return next === null ? task_id : yield* followMessage({ message_id, task_id: next }, openRun);
}

/** Returns the run that gets the message when this one ends; null: the message stays. */
async function* followWithin({ record, place }: OpenedRun, message_id: string): AsyncGenerator<SseFrame, string | null> {
  const tracker = createRunTracker(place);
  let is_live = false;
  for await (const event of record) {
    if (event === CAUGHT_UP) is_live = true;
    for (const part of event === CAUGHT_UP ? [] : tracker.read(event)) {
      if (part.kind !== 'receipt' || part.receipt.message_id !== message_id) continue;
      const { state, task_id } = part.receipt;
      if (state !== 'pending') return null;
      yield { data: toReceiptChunk(part.receipt) };
      if (task_id !== place.task_id) return task_id;
    }
    if (is_live && isAtRest(tracker.findRest())) return null;
  }
  return null;
}
