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

/** A request in progress: what may wait for its server, and who is notified that it waits. */
interface WaitingRequest {
  signal: AbortSignal;
  onWait(ms: number): void;
  onWaited(): void;
}

interface WireOptions {
  /** True for streamable HTTP: the answer to a POST has the reply. The older transport has one stream for all replies. */
  replies: boolean;
  /** Receives an error that ends the connection: a refused body, or a sign-in that is missing. */
  refuse(error: unknown): void;
  /** Receives the reason why no answer comes to any request that is in progress. */
  lose(reason: Error): void;
}

interface Answered {
  /** The request that the body answers, if it is an event stream; null: none. */
  request_id: string | number | null;
  /** True if the body continues the answer to a request. */
  resumed?: boolean;
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
export function createHttpWire(fetch: Fetch, { replies, refuse, lose }: WireOptions): HttpWire {
  const requests = new AsyncLocalStorage<WaitingRequest>();
  /** Marks the errors that this wire puts at the end of a stream. No server can know it. */
  const mark = randomUUID();
  /** The last event ids of streams with the answers to requests: by them, the client asks to resume such a stream. */
  const last_ids = new Set<string>();
  let failed_resumptions = 0;
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
    request?.onWait(ms);
    try {
      await wait(ms, undefined, { signal: AbortSignal.any(signals) });
    } finally {
      request?.onWaited();
    }
  }

  /** Asks the server to continue a stream that broke. */
  async function resume(input: Parameters<Fetch>[0], init: RequestInit): Promise<Response> {
    const fail = (reason: Error) => {
      failed_resumptions += 1;
      if (failed_resumptions >= MOST_RESUMPTIONS) lose(reason);
    };
    const response = await send(input, init).catch((error: Error) => {
      fail(error);
      throw error;
    });
    if (response.ok) failed_resumptions = 0;
    else if (response.status < 500) lose(new Error(`it does not resume the stream of its answer (HTTP ${response.status})`));
    else fail(new Error(`it answers with HTTP ${response.status}`));
    return watchBody(response, { request_id: null, resumed: true });
  }

  /** Watches the answer to a POST. If a stream ends, its request must have been answered. */
  async function watchAnswer(response: Response, body: unknown): Promise<Response> {
    const request_id = findRequestId(body);
    if (!replies || request_id === null || response.status === ACCEPTED) return watchBody(response);
    const labelled = await labelAnswer(response);
    return watchBody(labelled, { request_id: isStream(labelled) ? request_id : null });
  }

  /**
   * Reports a refused body at once; the client alone would wait until its time-out. At the end of a stream that nobody can
   * resume, an error answers the `request_id`, unless the server has answered it: then the client ignores the error.
   */
  function watchBody(response: Response, { request_id, resumed = false }: Answered = { request_id: null }): Response {
    if (!response.body) return response;
    const reader = response.body.getReader();
    const readId = createIdReader();
    let last_id: string | null = null;
    const ending = (reason: string) =>
      new TextEncoder().encode(
        `\n\nevent: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: request_id, error: { code: 0, message: reason, data: mark } })}\n\n`,
      );
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const part = await reader.read().catch((error: unknown) => {
            if (findOutsideRefusal(error)) refuse(error);
            if (last_id !== null) last_ids.add(last_id);
            if (request_id === null || last_id !== null || findOutsideRefusal(error)) throw error;
            return { done: true as const, value: undefined, broken: getReason(error) };
          });
          if (!part.done) {
            if (request_id !== null || resumed) last_id = readId(part.value);
            return controller.enqueue(part.value);
          }
          const reason = 'broken' in part ? part.broken : 'its answer ended before the result';
          if (last_id !== null) last_ids.add(last_id);
          else if (request_id !== null) controller.enqueue(ending(reason));
          controller.close();
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  }

  return {
    async fetch(input, init = {}) {
      if (init.method === 'POST') return post(input, init);
      const last_id = new Headers(init.headers).get('last-event-id');
      if (last_id !== null && last_ids.has(last_id)) return resume(input, init);
      const response = await send(input, init).catch((error: unknown) => {
        stream_error = error;
        throw error;
      });
      return watchBody(response);
    },
    during: (request, work) => requests.run(request, work),
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
