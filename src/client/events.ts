import { EventSourceParserStream } from 'eventsource-parser/stream';
import { isTerminal } from '../domain/statuses.ts';
import { PerduraConnectionError, PerduraError } from './errors.ts';
import type { RunEvent, Task } from './generated/api.ts';
import { pause } from './pause.ts';
import type { Transport } from './transport.ts';

/** An event of a run. `id` increases within a workflow; it is null for events that are not recorded. */
export type TaskEvent = RunEvent & { id: number | null };

export interface FollowOptions {
  signal?: AbortSignal;
  /** The `id` of the last event that was seen: only events with a higher one are sent. */
  after?: number;
}

const FIRST_DELAY_MS = 500;
const MOST_DELAY_MS = 15_000;

/**
 * Yields the events of a run until it has ended. Reopens a lost connection and continues where it broke off. Throws
 * `PerduraError` if the service refuses the stream, and the reason of the signal if that is aborted.
 */
export async function* followTask(
  transport: Transport,
  task_id: string,
  { signal, after }: FollowOptions = {},
): AsyncGenerator<TaskEvent, void> {
  const options = signal ? { signal } : {};
  const task = async () =>
    (await transport.send('GET /api/tasks/{id}', { path: { id: task_id }, query: { include: '' }, ...options })).value as Task;
  const { workflow_id, status } = await task();
  const place = { task_id, workflow_id, last: after ?? null };
  // A stream delivers every event by its end only if it was opened after the run had ended.
  let had_ended = isTerminal(status);
  for (let delay_ms = FIRST_DELAY_MS; ; delay_ms = Math.min(MOST_DELAY_MS, delay_ms * 2)) {
    let terminal = false;
    try {
      for await (const event of openStream(transport, place, signal)) {
        place.last = event.id ?? place.last;
        terminal ||= event.type === 'status' && isTerminal(event.data.status);
        delay_ms = FIRST_DELAY_MS;
        yield event;
      }
      if (terminal || had_ended) return;
      had_ended = isTerminal((await task()).status);
      if (had_ended) continue;
    } catch (error) {
      if (!isPassing(error)) throw error;
      delay_ms = Math.max(delay_ms, (error instanceof PerduraError && (error.retry_after_seconds ?? 0) * 1_000) || 0);
    }
    await pause(delay_ms, signal);
  }
}

interface Place {
  task_id: string;
  workflow_id: string;
  last: number | null;
}

/** Yields the events of one connection; throws `PerduraConnectionError` if it is lost. */
async function* openStream(
  transport: Transport,
  { workflow_id, task_id, last }: Place,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskEvent> {
  const silence = new AbortController();
  const either = signal ? AbortSignal.any([signal, silence.signal]) : silence.signal;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error('the stream was silent for too long')), transport.silence_ms);
  };
  try {
    alive();
    const response = await transport.open('GET /api/workflows/{id}/stream', {
      path: { id: workflow_id },
      query: { task_id },
      headers: last === null ? {} : { 'last-event-id': String(last) },
      signal: either,
    });
    yield* readFrames(response, alive);
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof PerduraError || error instanceof PerduraConnectionError ? error : new StreamLost(error);
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

/** The connection was open and broke. */
class StreamLost extends Error {
  constructor(cause: unknown) {
    super('The stream was lost', { cause });
  }
}

async function* readFrames({ body }: Response, alive: () => void): AsyncGenerator<TaskEvent> {
  if (!body) return;
  const heard = new TransformStream<string, string>({
    transform(text, controller) {
      alive();
      controller.enqueue(text);
    },
  });
  const text = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).pipeThrough(heard);
  const reader = text.pipeThrough(new EventSourceParserStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield { ...(JSON.parse(value.data) as RunEvent), id: value.id ? Number(value.id) : null };
  }
}

/** True if the same request may succeed later. */
const isPassing = (error: unknown): boolean =>
  error instanceof PerduraError
    ? [429, 502, 503, 504].includes(error.status)
    : error instanceof PerduraConnectionError || error instanceof StreamLost;
