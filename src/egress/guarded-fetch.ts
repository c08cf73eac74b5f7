import { Agent, buildConnector, type Dispatcher } from 'undici';
import { BYTE_LIMITS, type ByteLimits, limitFetchBytes, tooLarge } from './counted-fetch.ts';
import { dialEgress, EgressDenied } from './dial.ts';
import { followRedirects } from './redirects.ts';
import { requestFetch } from './request-fetch.ts';
import { type EgressRules, egressRules } from './rules.ts';

export interface GuardedFetch {
  /**
   * Like the global fetch, redirects included, but bytes are counted and errors state the reason. If the rules deny an address, the
   * error's cause has the code EGRESS_DENIED.
   */
  fetch: typeof globalThis.fetch;
  rules: EgressRules;
  close(): Promise<void>;
}

export const EGRESS_DENIED = 'EGRESS_DENIED';

const CONNECT_MS = 10_000;

/**
 * Fetches addresses that users may set. Each connection resolves its host once, checks the result and dials only that, so DNS
 * rebinding cannot redirect it.
 */
export function createGuardedFetch(
  allow: readonly string[],
  own_ports?: ReadonlySet<number>,
  limits: ByteLimits = BYTE_LIMITS,
): GuardedFetch {
  const rules = egressRules(allow, own_ports);
  const secure = buildConnector({ timeout: CONNECT_MS });
  const agent = new Agent({
    maxHeaderSize: limits.headers,
    connect(options, done) {
      const { hostname, protocol } = options;
      const port = Number(options.port) || (protocol === 'https:' ? 443 : 80);
      dialEgress({ hostname, port }, rules, { timeout_ms: CONNECT_MS }).then(
        (socket) => {
          socket.setNoDelay(true).setKeepAlive(true, 60_000);
          if (protocol !== 'https:') return done(null, socket);
          secure({ ...options, httpSocket: socket }, done);
        },
        (error: Error) => done(error instanceof EgressDenied ? Object.assign(error, { code: EGRESS_DENIED }) : error, null),
      );
    },
  });
  const dispatcher = agent.compose(patientWithStreams, limitRawBytes(limits.stream));
  return { rules, fetch: limitFetchBytes(followRedirects(requestFetch(dispatcher)), limits), close: () => agent.destroy() };
}

/**
 * Disables the read timeout of event streams: a stream may be silent as long as its reader waits, as when an MCP server asks a
 * person. Readers have limits.
 */
const patientWithStreams: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { accept } = options.headers as Record<string, unknown>;
  return dispatch(String(accept).includes('text/event-stream') ? { ...options, bodyTimeout: 0 } : options, handler);
};

/** Limits the compressed bytes of a body: they may unpack to nothing, and would then be counted nowhere else. */
const limitRawBytes =
  (most: number): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) => {
    let remaining = Number.POSITIVE_INFINITY;
    const counter: Handler = {
      onRequestStart: (...started) => handler.onRequestStart?.(...started),
      onRequestUpgrade: (...upgraded) => handler.onRequestUpgrade?.(...upgraded),
      onResponseStart(controller, status, headers, text) {
        if (headers['content-encoding'] !== undefined) remaining = most;
        handler.onResponseStart?.(controller, status, headers, text);
      },
      onResponseData(controller, chunk) {
        remaining -= chunk.length;
        if (remaining < 0) controller.abort(tooLarge('a compressed answer', most));
        else handler.onResponseData?.(controller, chunk);
      },
      onResponseEnd: (...ended) => handler.onResponseEnd?.(...ended),
      onResponseError: (...failed) => handler.onResponseError?.(...failed),
    };
    return dispatch(options, counter);
  };
type Handler = Dispatcher.DispatchHandler;

/** True if a request failed because it was denied, at any depth of the cause chain. */
export function isDenied(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if ((inner as NodeJS.ErrnoException).code === EGRESS_DENIED) return true;
  }
  return false;
}
