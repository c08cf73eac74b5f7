import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { EventSourceParserStream } from 'eventsource-parser/stream';

export interface Reply<T = Record<string, any>> {
  status: number;
  headers: Headers;
  body: T;
}

export interface StreamedEvent {
  id: number;
  type: string;
  data: Record<string, any>;
  timestamp: string;
}

export type Client = ReturnType<typeof clientOf>;

/** Creates a client of the API as a user would write one. */
export function clientOf(url: string, token: string | null, always: Record<string, string> = {}) {
  const auth = { ...always, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  async function send(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const raw = typeof body === 'string' || body instanceof FormData || body instanceof Uint8Array;
    const type = body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' };
    const init = {
      method,
      headers: { ...auth, ...type, ...headers },
      body: body === undefined ? null : raw ? body : JSON.stringify(body),
    };
    const answer = await fetch(`${url}${path}`, init as RequestInit);
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text && /json/.test(answer.headers.get('content-type') ?? '') ? JSON.parse(text) : text,
    };
  }
  return {
    url,
    send,
    get: (path: string, headers?: Record<string, string>) => send('GET', path, headers ? { headers } : {}),
    post: (path: string, body?: unknown, headers?: Record<string, string>) =>
      send('POST', path, { body, ...(headers ? { headers } : {}) }),
    put: (path: string, body?: unknown, headers?: Record<string, string>) =>
      send('PUT', path, { body, ...(headers ? { headers } : {}) }),
    patch: (path: string, body?: unknown) => send('PATCH', path, { body }),
    del: (path: string, headers?: Record<string, string>) => send('DELETE', path, headers ? { headers } : {}),
    /** Returns the body of a reply that must have this status; otherwise throws with the problem. */
    async ok(reply: Promise<Reply>, status?: number): Promise<Record<string, any>> {
      const { status: got, body } = await reply;
      if (status ? got !== status : got >= 300) throw new Error(`answered ${got}: ${JSON.stringify(body)}`);
      return body;
    },
    /**
     * Reads the events of a stream until `enough` returns true or the server ends it. `headers.last-event-id` resumes a stream.
     */
    async events(
      path: string,
      {
        enough = () => false,
        headers = {},
        timeout_ms = 20_000,
      }: { enough?: (event: StreamedEvent) => boolean; headers?: Record<string, string>; timeout_ms?: number } = {},
    ): Promise<StreamedEvent[]> {
      const gone = new AbortController();
      const timer = setTimeout(() => gone.abort(new Error(`the stream did not end within ${timeout_ms} ms`)), timeout_ms);
      const events: StreamedEvent[] = [];
      try {
        const answer = await fetch(`${url}${path}`, { headers: { ...auth, ...headers }, signal: gone.signal });
        if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
        for await (const frame of answer.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
          const event = eventOf(frame);
          events.push(event);
          if (enough(event)) return events;
        }
        return events;
      } finally {
        clearTimeout(timer);
        gone.abort();
      }
    },
  };
}

export const eventOf = ({ id, data }: EventSourceMessage): StreamedEvent => ({ id: Number(id), ...JSON.parse(data) });

/** Parses the frames of a stream that has ended. */
export function framesIn(stream: string): EventSourceMessage[] {
  const frames: EventSourceMessage[] = [];
  createParser({ onEvent: (frame) => frames.push(frame) }).feed(stream);
  return frames;
}

/**
 * Returns the text that a watcher has after these events, by the documented rule: a reset drops the deltas, a message replaces
 * them.
 */
export function rebuildTexts(events: StreamedEvent[]): { texts: string[]; unfinished: string } {
  const texts: string[] = [];
  let unfinished = '';
  for (const { type, data } of events) {
    if (type === 'message_delta') unfinished += data.delta;
    if (type === 'log' && data.event === 'attempt_reset') unfinished = '';
    if (type === 'message' && data.role === 'assistant') {
      texts.push(unfinished);
      unfinished = '';
    }
  }
  return { texts, unfinished };
}
