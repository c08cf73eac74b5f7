import { Agent, buildConnector, fetch } from 'undici';
import { EgressDenied, type EgressRules, egressRules, resolveEgress } from '../toolrunner/egress-rules.ts';

export interface GuardedFetch {
  /** Like the global fetch, redirects included; an address that the rules deny is a failure whose cause has the code EGRESS_DENIED. */
  fetch: typeof globalThis.fetch;
  rules: EgressRules;
  close(): Promise<void>;
}

export const EGRESS_DENIED = 'EGRESS_DENIED';

const CONNECT_MS = 10_000;

/**
 * Requests to addresses that users may set. Each connection resolves its host, judges the address and dials exactly that one,
 * so a name that resolves differently the second time leads nowhere else.
 */
export function guardedFetch(allow: readonly string[]): GuardedFetch {
  const rules = egressRules(allow);
  const dial = buildConnector({ timeout: CONNECT_MS });
  const agent = new Agent({
    connect(options, done) {
      const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
      resolveEgress({ hostname: options.hostname, port }, rules).then(
        (address) => dial({ ...options, hostname: address, servername: options.servername ?? nameOf(options.hostname) }, done),
        (error: Error) => done(error instanceof EgressDenied ? Object.assign(error, { code: EGRESS_DENIED }) : error, null),
      );
    },
  });
  return {
    rules,
    fetch: ((input: Parameters<typeof fetch>[0], init?: Parameters<typeof fetch>[1]) =>
      fetch(input, { ...init, dispatcher: agent })) as unknown as typeof globalThis.fetch,
    close: () => agent.destroy(),
  };
}

/** What TLS asks a certificate for: the name as it was asked for; an address has none. */
const nameOf = (hostname: string) => (/[a-z]/i.test(hostname) && !hostname.includes(':') ? hostname : (undefined as never));

/** Whether a failed request was denied, at whatever depth the reason stands. */
export function isDenied(error: unknown): boolean {
  for (let inner = error; inner instanceof Error; inner = inner.cause) {
    if ((inner as NodeJS.ErrnoException).code === EGRESS_DENIED) return true;
  }
  return false;
}

/** The innermost reason, which names the host or the port; the outer ones say `fetch failed`. */
export function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause) inner = inner.cause;
  const { message, code } = inner as NodeJS.ErrnoException;
  return message || code || 'no connection';
}
