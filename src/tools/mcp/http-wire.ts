import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ProtocolError } from '@modelcontextprotocol/client';
import { isMcpSignInNeeded } from '../../domain/errors.ts';
import { findOutsideRefusal } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import { parseRetryAfter } from '../../domain/retry-after.ts';
import { EgressDenied } from '../../egress/dial.ts';
import { McpLost, McpRefused } from './failures.ts';
import { createIdReader, isStream, labelAnswer, readRefusal } from './http-bodies.ts';

type Fetch = typeof globalThis.fetch;

/** A request in progress: what may wait for its server, and who is notified of the wait. */
interface WaitingRequest {
  signal: AbortSignal;
  onWait?(ms: number): void;
}

interface WireOptions {
  /** True for streamable HTTP: the answer to a POST has the reply. The older transport has one stream for all replies. */
  replies: boolean;
  /** Receives an error that ends the connection: a refused body, or a sign-in that is missing. */
  refuse(error: unknown): void;
}

/** What the body of an event stream answers: a request by its id, and whose request that is. */
interface Answered {
  request_id: string | number;
  /** Absent: one of the client itself, which has a short time-out. */
  request: WaitingRequest | undefined;
}

/** A stream that ended before its answer, and how often the server has failed to resume it. */
interface BrokenStream extends Answered {
  last_id: string;
  failures: number;
}

export interface HttpWire {
  fetch: Fetch;
  /** Runs the work of a request. If the server has no capacity, the request waits for it, until the signal aborts. */
  during<T>(request: WaitingRequest, work: () => Promise<T>): Promise<T>;
  /** Returns the reason why the stream of a request ended before its answer; null if an error is not about that. */
  findBreak(error: unknown): string | null;
  /** Returns why the stream of the older transport could not be opened, if it could not: the client has only a text about it. */
  getStreamError(): unknown;
}

/** How often the server is asked to resume a stream that broke. */
const MOST_RESUMPTIONS = 2;
const MOST_WAITS = 3;
/** The status of an answer without a body. */
const ACCEPTED = 202;
const FIRST_WAIT_MS = 1_000;
/** The longest wait that a server may ask for. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Sends the messages of one connection over HTTP. It knows where a failure comes from: whether a request was sent, whether the
 * server refused it, has lost its session, or broke off its answer. The SDK's client reports only part of that, and only late.
 */
export function createHttpWire(fetch: Fetch, { replies, refuse }: WireOptions): HttpWire {
  const requests = new AsyncLocalStorage<WaitingRequest>();
  /** Marks the errors that this wire puts at the end of a stream. No server can know it. */
  const mark = randomUUID();
  const active = new Set<WaitingRequest>();
  /**
   * Streams with the answers to requests in progress. The client asks to resume a stream by its last event id; servers may use an id
   * in several streams.
   */
  const broken_streams = new Set<BrokenStream>();
  let stream_error: unknown;

  async function send(input: Parameters<Fetch>[0], init: RequestInit | undefined): Promise<Response> {
    return fetch(input, init).catch((error: unknown) => {
      if (isMcpSignInNeeded(error)) refuse(error);
      throw error;
    });
  }

  async function post(input: Parameters<Fetch>[0], init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    for (let waits = 0; ; waits += 1) {
      const response = await send(input, init).catch((error: unknown) => {
        throw wasNotSent(error) ? new McpLost(getReason(error), { sent: false, cause: error }) : error;
      });
      if (response.ok) return await watchAnswer(response, init.body);
      const wait_ms = findWait(response, waits);
      if (wait_ms === null) throw await toFailure(response, headers.has('mcp-session-id'));
      await response.body?.cancel();
      await waitForServer(wait_ms, init.signal);
    }
  }

  async function waitForServer(ms: number, closed: AbortSignal | null | undefined): Promise<void> {
    const request = requests.getStore();
    const signals = [request?.signal, closed].filter((signal) => signal != null);
    request?.onWait?.(ms);
    await wait(ms, undefined, { signal: AbortSignal.any(signals) });
  }

  /** Asks the server to continue a stream that broke. If it does not, an error answers the request of this stream. */
  async function resume(stream: BrokenStream, ask: () => Promise<Response>): Promise<Response> {
    broken_streams.delete(stream);
    const answerWithError = (reason: string) =>
      new Response(toEnding(stream, reason), { headers: { 'content-type': 'text/event-stream' } });
    const fail = (reason: string) => {
      const failures = stream.failures + 1;
      if (failures >= MOST_RESUMPTIONS) return answerWithError(reason);
      noteBrokenStream({ ...stream, failures });
      return null;
    };
    const response = await ask().catch((error: Error) => error);
    if (response instanceof Error) {
      const given_up = fail(getReason(response));
      if (given_up) return given_up;
      throw response;
    }
    if (response.ok) return watchBody(response, stream);
    const given_up =
      response.status < 500
        ? answerWithError(`it does not resume the stream of its answer (HTTP ${response.status})`)
        : fail(`it answers with HTTP ${response.status}`);
    if (given_up) await response.body?.cancel();
    return given_up ?? watchBody(response);
  }

  /** Returns the event that answers a request with an error. */
  const toEnding = ({ request_id }: Answered, reason: string) =>
    new TextEncoder().encode(
      `\n\nevent: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: request_id, error: { code: 0, message: reason, data: mark } })}\n\n`,
    );

  /** Keeps a stream to be resumed, unless its request has ended. */
  function noteBrokenStream(stream: BrokenStream): void {
    if (stream.request && active.has(stream.request)) broken_streams.add(stream);
  }

  /** Watches the answer to a POST. If a stream ends, its request must have been answered. */
  async function watchAnswer(response: Response, body: unknown): Promise<Response> {
    const request_id = findRequestId(body);
    if (!replies || request_id === null || response.status === ACCEPTED) return watchBody(response);
    const labelled = await labelAnswer(response);
    return watchBody(labelled, isStream(labelled) ? { request_id, request: requests.getStore() } : null);
  }

  /**
   * Reports a refused body at once; the client alone would wait until its time-out. At the end of a stream that nobody can
   * resume, an error answers its request, unless the server has answered it: then the client ignores the error.
   */
  function watchBody(response: Response, answered: Answered | null = null): Response {
    if (!response.body) return response;
    const reader = response.body.getReader();
    const readId = createIdReader();
    let last_id: string | null = null;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const part = await reader.read().catch((error: unknown) => {
            if (findOutsideRefusal(error)) refuse(error);
            if (answered && last_id !== null) noteBrokenStream({ ...answered, last_id, failures: 0 });
            if (!answered || last_id !== null || findOutsideRefusal(error)) throw error;
            return { done: true as const, value: undefined, broken: getReason(error) };
          });
          if (!part.done) {
            if (answered) last_id = readId(part.value);
            return controller.enqueue(part.value);
          }
          const reason = 'broken' in part ? part.broken : 'its answer ended before the result';
          if (answered && last_id !== null) noteBrokenStream({ ...answered, last_id, failures: 0 });
          else if (answered) controller.enqueue(toEnding(answered, reason));
          controller.close();
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  }

  async function runRequest<T>(request: WaitingRequest, work: () => Promise<T>): Promise<T> {
    active.add(request);
    try {
      return await requests.run(request, work);
    } finally {
      active.delete(request);
      for (const stream of broken_streams) if (stream.request === request) broken_streams.delete(stream);
    }
  }

  return {
    async fetch(input, init = {}) {
      if (init.method === 'POST') return post(input, init);
      const last_id = new Headers(init.headers).get('last-event-id');
      const broken = [...broken_streams].find((stream) => stream.last_id === last_id);
      if (broken) return resume(broken, () => send(input, init));
      const response = await send(input, init).catch((error: unknown) => {
        stream_error = error;
        throw error;
      });
      return watchBody(response);
    },
    during: runRequest,
    getStreamError: () => stream_error,
    findBreak: (error) => (error instanceof ProtocolError && error.data === mark ? error.message : null),
  };
}

/** Returns the id of the request in a body; null if it has none. */
function findRequestId(body: unknown): string | number | null {
  const { id, method } = JSON.parse(String(body)) as { id?: string | number; method?: string };
  return method !== undefined && id !== undefined ? id : null;
}

/** True if no connection came about, so that nothing was sent. */
function wasNotSent(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    const { syscall, code } = inner as NodeJS.ErrnoException;
    if (inner instanceof EgressDenied || syscall === 'connect' || syscall?.startsWith('getaddr')) return true;
    if (code === 'UND_ERR_CONNECT_TIMEOUT') return true;
  }
  return false;
}

/** Returns how long to wait before the server is asked again; null if it is not. */
function findWait({ status, headers }: Response, waits: number): number | null {
  if (waits >= MOST_WAITS || !(status === 429 || (status === 503 && headers.has('retry-after')))) return null;
  const wait_ms = parseRetryAfter(headers) ?? FIRST_WAIT_MS * 2 ** waits;
  return wait_ms <= LONGEST_WAIT_MS ? wait_ms : null;
}

/** The statuses of a proxy whose server is gone. The server may have executed the request before. */
const isLoss = (status: number) => status >= 502 && status <= 504;

/** Returns the failure that a refusal of the server means. Its status shows if the request can have been executed. */
async function toFailure(response: Response, in_session: boolean): Promise<Error> {
  const { status } = response;
  const { sentence, in_protocol } = await readRefusal(response);
  const text = sentence ? `${sentence} (HTTP ${status})` : `HTTP ${status}`;
  // This is how a server without sessions reports that it does not know a method.
  if (status === 404 && !(in_protocol && !in_session)) {
    const lost = in_session ? 'it does not know the session any more' : 'it does not know the address';
    return new McpLost(`${lost} (HTTP 404)`, { sent: false, status });
  }
  if (status === 429) {
    const after_ms = parseRetryAfter(response.headers);
    const until = after_ms ? `; it asks to wait ${Math.ceil(after_ms / 1_000)} s` : '';
    return new McpRefused(`it takes no more requests now: ${text}${until}`, { status, unexecuted: true });
  }
  if (isLoss(status) || (status >= 500 && !in_protocol)) return new McpLost(`it answered: ${text}`, { sent: true, status });
  return new McpRefused(text, { status, unexecuted: status < 500 });
}
