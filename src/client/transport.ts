import { PerduraAnswerError, PerduraConnectionError, PerduraError, toPerduraError } from './errors.ts';
import { IDEMPOTENT, type Operations } from './generated/api.ts';
import { pause } from './pause.ts';

export interface ClientOptions {
  /** The address of the installation, such as `https://perdura.example`. */
  url: string;
  /** An access token, or a function that returns it before each request. */
  token: string | (() => string | Promise<string>);
  /** The most repetitions of a request that may be repeated; 4 by default. */
  max_retries?: number;
  /** The time limit of one attempt; 60 seconds by default. Streams have no limit, but see `silence_ms`. */
  timeout_ms?: number;
  /** A stream that sends no byte for this long counts as lost; 45 seconds by default. The service sends one every 15 seconds. */
  silence_ms?: number;
  /** A replacement for the global `fetch`. */
  fetch?: typeof globalThis.fetch;
}

/** A method and a path, such as `GET /api/tasks/{id}`. */
export type Route = keyof Operations;
export type ReplyOf<R extends Route> = Operations[R]['reply'];

export interface CallOptions {
  signal?: AbortSignal;
  /**
   * The key of an operation that creates something: repeated requests with the same key have no effect. By default, each call
   * has a new one.
   */
  idempotency_key?: string;
  headers?: Record<string, string>;
}

type InputOf<R extends Route> = Operations[R]['input'] & CallOptions;
/** The options of an operation; they may be left out if the operation needs none. */
export type RouteOptions<R extends Route> =
  Partial<Operations[R]['input']> extends Operations[R]['input'] ? [options?: InputOf<R>] : [options: InputOf<R>];

/** The options of any operation. */
interface Input extends CallOptions {
  path?: Record<string, unknown>;
  query?: Record<string, unknown>;
  body?: unknown;
}

export interface Reply {
  value: unknown;
  headers: Headers;
}

export interface Transport {
  /** Sends a request and reads its reply; repeats it if that is safe. Throws `PerduraError` or `PerduraConnectionError`. */
  send(route: string, input?: Input): Promise<Reply>;
  /** Opens a stream in a single attempt. Its reader cancels it with the signal. */
  open(route: string, input: Input & { signal: AbortSignal }): Promise<Response>;
  silence_ms: number;
}

const BASE_DELAY_MS = 500;
const MOST_DELAY_MS = 8_000;
/** The longest wait, in seconds, that this client does itself; longer ones are left to the caller. */
const MOST_RETRY_AFTER_S = 60;

export function createTransport({
  url,
  token,
  max_retries = 4,
  timeout_ms = 60_000,
  silence_ms = 45_000,
  fetch = globalThis.fetch,
}: ClientOptions): Transport {
  const base = parseBaseUrl(url);

  async function attempt(route: string, input: Input & { signal: AbortSignal }): Promise<Response> {
    const [method = '', path = ''] = route.split(' ');
    const form = input.body instanceof FormData;
    const address = `${base}${fillPath(path, input.path)}${formatQuery(input.query)}`;
    const headers = {
      authorization: `Bearer ${typeof token === 'string' ? token : await token()}`,
      ...(input.body === undefined || form ? {} : { 'content-type': 'application/json' }),
      ...(input.idempotency_key ? { 'idempotency-key': input.idempotency_key } : {}),
      ...input.headers,
    };
    const body = input.body === undefined ? null : form ? (input.body as FormData) : JSON.stringify(input.body);
    const response = await wrapConnectionErrors(input.signal, base, () =>
      fetch(address, { method, headers, body, signal: input.signal, redirect: 'error' }),
    );
    if (!response.ok) throw await wrapConnectionErrors(input.signal, base, () => toPerduraError(response));
    return response;
  }

  async function once(route: string, { signal, ...input }: Input): Promise<Reply> {
    const timeout = AbortSignal.timeout(timeout_ms);
    const either = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      const response = await attempt(route, { ...input, signal: either });
      const text = await wrapConnectionErrors(either, base, () => response.text());
      return { value: parseAnswer(text, base), headers: response.headers };
    } catch (error) {
      if (timeout.aborted && !signal?.aborted)
        throw new PerduraConnectionError(base, new Error(`no answer within ${timeout_ms} ms`));
      throw error;
    }
  }

  return {
    silence_ms,
    open: attempt,
    async send(route, values = {}) {
      const input = IDEMPOTENT.has(route) ? { idempotency_key: crypto.randomUUID(), ...values } : values;
      for (let repeats = 0; ; repeats += 1) {
        try {
          return await once(route, input);
        } catch (error) {
          const delay_ms = repeats < max_retries ? findRetryDelay(repeats, { route, error }) : null;
          if (delay_ms === null) throw error;
          await pause(delay_ms, input.signal);
        }
      }
    },
  };
}

/** Returns the delay before a failed request is repeated; null if it must not be repeated, or not that soon. */
function findRetryDelay(repeats: number, { route, error }: { route: string; error: unknown }): number | null {
  const growing = Math.min(MOST_DELAY_MS, BASE_DELAY_MS * 2 ** repeats) * (0.5 + Math.random() / 2);
  const repeatable = /^(GET|PUT) /.test(route) || IDEMPOTENT.has(route);
  if (error instanceof PerduraConnectionError) return repeatable ? growing : null;
  if (!(error instanceof PerduraError)) return null;
  if (error.code === 'idempotency_key_busy') return growing;
  // The service had not started a request that it refused because of a limit.
  if (error.status !== 429 && !(error.status === 503 && repeatable)) return null;
  const { retry_after_seconds: seconds } = error;
  if (seconds === null) return error.status === 503 ? growing : null;
  return seconds > MOST_RETRY_AFTER_S ? null : seconds * 1_000;
}

function parseAnswer(text: string, base: string): unknown {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    throw new PerduraAnswerError(base, 'answered with something that is not JSON');
  }
}

/** Rejects with the reason of the signal if a request was aborted, as `fetch` does. */
async function wrapConnectionErrors<T>(signal: AbortSignal | undefined, base: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw new PerduraConnectionError(base, error);
  }
}

function parseBaseUrl(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error(`The url of the installation must be like https://perdura.example, not ${JSON.stringify(url)}`);
  return url.replace(/(?<!\/)\/+$/, '');
}

const fillPath = (path: string, values: Record<string, unknown> = {}) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name])));

function formatQuery(values: Record<string, unknown> = {}): string {
  const set = Object.entries(values).flatMap(([name, value]) => (value == null ? [] : [[name, String(value)]]));
  return set.length > 0 ? `?${new URLSearchParams(set)}` : '';
}
