import type { UIMessage, UIMessageChunk } from 'ai';
import { streamUiMessage, type UiStream } from '../../../src/api/compat/ui/stream.ts';
import type { SseFrame } from '../../../src/api/http/sse.ts';
import type { NewEvent } from '../../../src/events/task-events.ts';
import {
  asksApproval,
  call,
  callEnds,
  callStarts,
  delta,
  message,
  modelCall,
  numbered,
  recordOf,
  TASK_ID,
} from './run-record.ts';
import { listChunks, listFrames, readMessage, toFileUrl } from './ui-reader.ts';

export const idOf = (call_id: string) => `call_${TASK_ID}_${call_id}`;

interface Reading extends Partial<UiStream> {
  /** The number of events that happen after the reader has come. */
  live?: number;
}

export const framesOf = (events: readonly NewEvent[], { live = 0, ...options }: Reading = {}): Promise<SseFrame[]> =>
  listFrames(
    streamUiMessage(recordOf(numbered(events), live), { task_id: TASK_ID, toFileUrl, after: 0, client_tools: [], ...options }),
  );
/** The message that a page has after the stream of these events. */
export const messageOf = async (events: readonly NewEvent[], options?: Reading): Promise<UIMessage> =>
  (await readMessage(await framesOf(events, options))).message!;
export const partsOf = async (events: readonly NewEvent[], options?: Reading) => (await messageOf(events, options)).parts;
export const textsOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await partsOf(events, options)).flatMap((part) => (part.type === 'text' ? [part.text] : []));
export const chunksOf = async (events: readonly NewEvent[], options?: Reading): Promise<UIMessageChunk[]> =>
  listChunks(await framesOf(events, options));
export const typesOf = async (events: readonly NewEvent[], options?: Reading) =>
  (await chunksOf(events, options)).map(({ type }) => type);

/** A run that says Hello; one that asks for the call `1-1` of `add`; one that has made it; one that waits for its approval. */
export const HELLO = [modelCall(1), delta('Hel'), delta('lo'), message('assistant', 'Hello', { step: 1 })];
export const ASKS = [modelCall(1), message('assistant', 'I add.', { step: 1, tool_calls: [call('1-1', 'add', '{"a":17}')] })];
export const ADDS = [...ASKS, callStarts('1-1', 'add', '{"a":17}'), ...callEnds('1-1', 'add', '{"sum":42}')];
export const WAITS = [...ASKS, ...asksApproval('1-1', 'add', '{"a":17}')];
