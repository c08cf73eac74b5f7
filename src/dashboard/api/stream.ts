import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { RunEvent } from '../../contracts/events.ts';
import { workflows } from '../../contracts/workflows.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { ApiProblem, type Client, requestUrl } from './call.ts';

interface StreamFrame {
  id: number;
  data: unknown;
}

/** The frames of a server-sent events response. */
export async function* readFrames(body: NonNullable<Response['body']>): AsyncGenerator<StreamFrame> {
  // Some browsers cannot iterate over a stream.
  const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const { id, data } = read.value;
      yield { id: Number(id), data: JSON.parse(data) };
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

export type Connection = 'connecting' | 'live' | 'reconnecting' | 'ended';

interface Following {
  workflow_id: string;
  task_id: string;
  signal: AbortSignal;
  onEvents(events: RunEvent[]): void;
  onConnection(state: Connection): void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 10_000;

/**
 * Follows a run from its first event to its terminal status. After a broken connection it resumes after the last event seen.
 * Rejects if the service refuses the stream permanently.
 */
export async function followRun(client: Client, following: Following): Promise<void> {
  const { workflow_id, task_id, signal, onConnection } = following;
  const url = requestUrl(workflows.stream, { params: { id: workflow_id }, query: { task_id } });
  const position = { last: 0 };
  let wait = FIRST_WAIT_MS;
  onConnection('connecting');
  while (!signal.aborted) {
    const before = position.last;
    if (await attempt(client, { ...following, url, seen: position })) return onConnection('ended');
    if (signal.aborted) return;
    onConnection('reconnecting');
    wait = position.last > before ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
    await pause(wait * (0.75 + Math.random() / 2), signal);
  }
}

/** True if the terminal status was received. */
async function attempt(client: Client, following: Following & { url: string; seen: { last: number } }): Promise<boolean> {
  const { url, seen, task_id, signal, onEvents, onConnection } = following;
  try {
    const headers = new Headers();
    if (seen.last > 0) headers.set('last-event-id', String(seen.last));
    const response = await client.send(url, { headers, signal });
    onConnection('live');
    // Nothing follows.
    if (!response.body) return true;
    for await (const { id, data } of readFrames(response.body)) {
      const event = data as RunEvent;
      if (id <= seen.last && !isReset(event)) continue;
      seen.last = id;
      onEvents([event]);
      if (event.type === 'status' && event.data.task_id === task_id && isTerminal(event.data.status)) return true;
    }
    return false;
  } catch (error) {
    if (signal.aborted) return false;
    if (error instanceof ApiProblem && [401, 403, 404].includes(error.status)) throw error;
    return false;
  }
}

/** The server has other events under the numbers seen, and sends the run again. */
const isReset = ({ type, data }: RunEvent) => type === 'log' && data.event === 'stream_reset';

/** Waits, or until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms);
    function finish() {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    }
    signal.addEventListener('abort', finish);
  });
}
