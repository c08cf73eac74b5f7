import { Agent, buildConnector, fetch } from 'undici';
import { dialEgress, EgressDenied } from './dial.ts';
import { followingRedirects } from './redirects.ts';
import { type EgressRules, egressRules } from './rules.ts';

export interface GuardedFetch {
  /** Like the global fetch, redirects included, but errors state the reason; if the rules deny an address, the cause has the code EGRESS_DENIED. */
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
export function guardedFetch(allow: readonly string[], own_ports?: ReadonlySet<number>): GuardedFetch {
  const rules = egressRules(allow, own_ports);
  const secure = buildConnector({ timeout: CONNECT_MS });
  const agent = new Agent({
    connect(options, done) {
      const { hostname, protocol } = options;
      const port = Number(options.port) || (protocol === 'https:' ? 443 : 80);
      dialEgress({ hostname, port }, rules, { timeout_ms: CONNECT_MS }).then(
        (socket) => {
          socket.setNoDelay(true).setKeepAlive(true, 60_000);
          if (protocol !== 'https:') return done(null, socket);
          secure({ ...options, httpSocket: socket, servername: options.servername ?? nameOf(hostname) }, done);
        },
        (error: Error) => done(error instanceof EgressDenied ? Object.assign(error, { code: EGRESS_DENIED }) : error, null),
      );
    },
  });
  const once = ((input: Parameters<typeof fetch>[0], init?: Parameters<typeof fetch>[1]) =>
    fetch(input, { ...init, dispatcher: agent }).catch((error: Error) => {
      throw error.message === 'fetch failed' ? new TypeError(reasonOf(error), { cause: error }) : error;
    })) as unknown as typeof globalThis.fetch;
  return { rules, fetch: followingRedirects(once), close: () => agent.destroy() };
}

/** The TLS server name: the requested host name; none for an IP address. */
const nameOf = (hostname: string) => (/[a-z]/i.test(hostname) && !hostname.includes(':') ? hostname : undefined);

/** Whether a request failed because it was denied, at any depth of the cause chain. */
export function isDenied(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if ((inner as NodeJS.ErrnoException).code === EGRESS_DENIED) return true;
  }
  return false;
}

/** The innermost cause, which names the host or the port; the outer ones only say `fetch failed`. */
export function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause) inner = inner.cause;
  const { message, code } = inner as NodeJS.ErrnoException;
  return message || code || 'no connection';
}
