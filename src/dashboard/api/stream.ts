import type { RunEvent } from '../../contracts/events.ts';
import { workflows } from '../../contracts/workflows.ts';
import { ApiProblem, type Client, requestUrl } from './call.ts';

interface StreamFrame {
  id: number | null;
  data: unknown;
}

/** The frames of a response of server-sent events. Lines end with a line feed and nothing else: U+2028 is text. */
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamFrame> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let buffer = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      buffer += decoder.decode(read.value, { stream: true });
      const frames = buffer.split('\n\n');
      buffer = frames.pop() ?? '';
      for (const frame of frames) {
        const parsed = frameOf(frame);
        if (parsed) yield parsed;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function frameOf(text: string): StreamFrame | null {
  const field = (name: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2);
  const data = field('data');
  if (!data) return null;
  const id = field('id');
  return { id: id ? Number(id) : null, data: JSON.parse(data) };
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
const TERMINAL = ['completed', 'failed', 'halted'];
export const isEndedStatus = (status: string) => TERMINAL.includes(status);

/**
 * Follows a run from its first event to its terminal status. A broken connection is taken up after the event seen last.
 * Rejects when the service refuses the stream for good.
 */
export async function followRun(client: Client, following: Following): Promise<void> {
  const { workflow_id, task_id, signal, onConnection } = following;
  const url = requestUrl(workflows.stream, { params: { id: workflow_id }, query: { task_id } });
  const seen = { last: 0 };
  let wait = FIRST_WAIT_MS;
  onConnection('connecting');
  while (!signal.aborted) {
    const before = seen.last;
    if (await attempt(client, { ...following, url, seen })) return onConnection('ended');
    if (signal.aborted) return;
    onConnection('reconnecting');
    wait = seen.last > before ? FIRST_WAIT_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
    await pause(wait * (0.75 + Math.random() / 2), signal);
  }
}

/** True when the terminal status was told. */
async function attempt(client: Client, following: Following & { url: string; seen: { last: number } }): Promise<boolean> {
  const { url, seen, task_id, signal, onEvents, onConnection } = following;
  try {
    const headers = new Headers();
    if (seen.last > 0) headers.set('last-event-id', String(seen.last));
    const response = await client.send(url, { headers, signal });
    onConnection('live');
    for await (const { id, data } of framesOf(response.body!)) {
      const event = data as RunEvent;
      if (id !== null) {
        if (id <= seen.last) continue;
        seen.last = id;
      }
      onEvents([event]);
      if (event.type === 'status' && event.data.task_id === task_id && isEndedStatus(event.data.status)) return true;
    }
    return false;
  } catch (error) {
    if (signal.aborted) return false;
    if (error instanceof ApiProblem && [401, 403, 404].includes(error.status)) throw error;
    return false;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
