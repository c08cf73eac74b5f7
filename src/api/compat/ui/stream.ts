import type { StoredEvent } from '../../../events/task-events.ts';
import type { SseFrame } from '../../http/sse.ts';
import type { AskedCall, EndStatus, RunPart } from '../projection/parts.ts';
import { CAUGHT_UP, type RunRecord } from '../projection/read-record.ts';
import type { CallRules } from '../projection/track-calls.ts';
import type { ReceiptRules } from '../projection/track-receipts.ts';
import { createRunTracker } from '../projection/track-run.ts';
import { createChunks, type UiChunk, type UiPlace } from './chunks.ts';

export interface UiStream extends UiPlace, CallRules, ReceiptRules {
  /** The client has the chunks of the events up to this number, in the message that it continues; 0: it has none. */
  after: number;
  /** Metadata of the message, besides what the stream itself adds. */
  metadata?: Record<string, unknown> | undefined;
}

/** What `useChat` answers by sending a message again; everything else is answered elsewhere, while the stream stays open. */
const ANSWERED_BY_CHAT = ['approval', 'client'];

/** True if a run waits for nothing but what `useChat` answers. */
export const isAtRest = (asked: readonly AskedCall[] | null) =>
  asked?.every(({ ask }) => ANSWERED_BY_CHAT.includes(ask)) ?? false;

const FINISH_REASONS: Record<EndStatus, string> = { completed: 'stop', failed: 'error', halted: 'interrupted' };

/**
 * Streams a run as one assistant message. The number of an event is sent with its last chunk, so that a client never continues in the
 * middle of an event. Ends when the run has ended, or when it rests until the client sends approvals or results. Without either, the
 * record ended early: nothing reports to the client that the message is complete.
 */
export async function* streamUiMessage(record: RunRecord, stream: UiStream): AsyncGenerator<SseFrame> {
  const { task_id, after, metadata } = stream;
  const tracker = createRunTracker(stream);
  const chunks = createChunks(stream);
  let last = 0;
  let is_live = false;
  yield { data: { type: 'start', messageId: task_id, messageMetadata: { ...metadata, task_id } } };
  for await (const event of record) {
    if (event === CAUGHT_UP) {
      is_live = true;
      if (after > last) return yield* [{ data: { type: 'error', errorText: UNKNOWN_NUMBER } }, DONE];
    } else {
      last = event.seq;
      const parts = tracker.read(event);
      const converted = parts.flatMap(chunks.convert);
      const end = listEndChunks(parts, event, chunks.close);
      if (last > after) yield* toFrames(last, [...converted, ...(end ?? [])]);
      else if (end) yield* toFrames(last, end);
      // A client that continues the message may have forgotten that a text is open, so it is opened again.
      else chunks.forgetText();
      if (end) return yield DONE;
    }
    if (is_live && isAtRest(tracker.findRest()))
      return yield* [...toFrames(last, [...chunks.close(), toFinish('tool-calls', { status: 'waiting', event: last })]), DONE];
  }
}

const UNKNOWN_NUMBER =
  'The installation was restored to a time before the events that this message ends with; load the messages again';

const DONE: SseFrame = { data: '[DONE]' };

const toFrames = (seq: number, chunks: readonly UiChunk[]): SseFrame[] =>
  chunks.map((data, index) => (index === chunks.length - 1 ? { id: seq, data } : { data }));

const toFinish = (finishReason: string, messageMetadata: Record<string, unknown>): UiChunk => ({
  type: 'finish',
  finishReason,
  messageMetadata,
});

/** Returns the chunks that end the message, if one of these parts does; null otherwise. */
function listEndChunks(parts: readonly RunPart[], { seq }: StoredEvent, close: () => UiChunk[]): UiChunk[] | null {
  const restored = parts.find((part) => part.kind === 'restored');
  if (restored) return [...close(), { type: 'error', errorText: restored.detail }];
  const end = parts.find((part) => part.kind === 'end');
  if (!end) return null;
  const { status, error, error_code, truncated } = end;
  const metadata = { status, event: seq, ...(error_code === null ? {} : { error_code }) };
  if (status === 'failed')
    return [
      ...close(),
      // The client stops at an error, so the metadata come first.
      { type: 'message-metadata', messageMetadata: metadata },
      { type: 'error', errorText: error ?? 'The run failed' },
    ];
  const reason = truncated && status === 'completed' ? 'length' : FINISH_REASONS[status];
  const abort = status === 'halted' ? [{ type: 'abort', reason: error ?? 'The run was halted' }] : [];
  return [...close(), ...abort, toFinish(reason, metadata)];
}
