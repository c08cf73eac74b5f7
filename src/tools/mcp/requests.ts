import { type Client, type Progress, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import { isMcpSignInNeeded } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { findOutsideRefusal } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import {
  ABOUT_CALLER,
  findUnreadable,
  isMcpFailure,
  McpLost,
  McpRefused,
  McpSilent,
  McpUnreadable,
  withoutDumps,
} from './failures.ts';
import type { HttpWire } from './http-wire.ts';
import { RawResult } from './raw-results.ts';

interface SendOptions {
  /** Cancels the request in somebody's name. */
  signal: AbortSignal;
  /** Aborts once the server had its time for the answer. */
  expiry: AbortSignal;
  onprogress?: (progress: Progress) => void;
  onWait?: (ms: number) => void;
  /** Headers for a server that is reached over HTTP. */
  headers?: Record<string, string>;
}

export interface Requests {
  /**
   * Sends a request and returns its result. Throws the signal's reason, `mcp_sign_in_needed`, a refusal of what is too large, an
   * outage of this installation, or one of the failures of `failures.ts`.
   */
  send(request: { method: string; params: object }, options: SendOptions): Promise<object>;
  /** Returns false if the server does not answer, or has lost the session. */
  ping(): Promise<boolean>;
  /** True if the server has lost the session, so that a new connection is needed. */
  hasLostSession(): boolean;
  /** Does work during which the connection is in use, also while no request of it is in progress. */
  keepOpen<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves when the connection is not in use. */
  whenIdle(): Promise<void>;
}

interface Connected {
  wire: HttpWire;
  refusal: { orElse<T>(work: Promise<T>): Promise<T> };
  /** How the connection ended; the reason is null if the server closed it. */
  end: { closed: boolean; reason: string | null };
  /** True if the server speaks the version without a handshake, which has neither sessions nor pings. */
  is_stateless: boolean;
  /** True if the server has given the connection a session. */
  hasSession(): boolean;
}

const PING_MS = 5_000;
/** The longest possible timer: requests have their own clocks, which may stop while a person is asked. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** The errors of the protocol for requests that a server does not begin to execute. */
const UNEXECUTED: number[] = [
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.InvalidParams,
];

/** Sends the requests of one connection, and finds out what each failure means. */
export function createRequests(client: Client, { wire, refusal, end, is_stateless, hasSession }: Connected): Requests {
  let lost_session = false;
  let uses = 0;
  let idle = Promise.withResolvers<void>();

  /** Asks the server if it knows the session. A server need not know pings; then its answer shows that it is there. */
  async function ping(): Promise<'alive' | 'silent' | 'refused'> {
    const expiry = AbortSignal.timeout(PING_MS);
    try {
      const method = is_stateless ? 'server/discover' : 'ping';
      await client.request({ method }, RawResult, { timeout: NO_TIMEOUT_MS, signal: expiry });
      return 'alive';
    } catch (error) {
      if (expiry.aborted) return 'silent';
      return error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound && !end.closed
        ? 'alive'
        : 'refused';
    }
  }

  /** Returns the failure that an error of the client means. */
  function toFailure(error: unknown, { expiry }: SendOptions): Error {
    const broken = wire.findBreak(error);
    if (broken !== null) return new McpLost(broken, { sent: true, cause: error });
    if (isMcpSignInNeeded(error) || findOutsideRefusal(error) || findOutage(error)) return error as Error;
    if (isMcpFailure(error)) return error;
    if (expiry.aborted) return new McpSilent('it did not answer in time');
    if (end.closed) return new McpLost(end.reason ?? 'it closed the connection', { sent: true, cause: error });
    if (error instanceof ProtocolError)
      return new McpRefused(withoutDumps(error.message), { unexecuted: UNEXECUTED.includes(error.code) });
    const unreadable = findUnreadable(error);
    if (unreadable !== null) return new McpUnreadable(unreadable, { cause: error });
    return new McpLost(getReason(error), { sent: true, cause: error });
  }

  /** Returns true if a refusal shows that the server has lost the session, as after a restart. */
  const showsLostSession = async ({ status }: McpRefused): Promise<boolean> =>
    !is_stateless && (status !== undefined || hasSession()) && !ABOUT_CALLER.has(status) && (await ping()) === 'refused';

  async function send(request: { method: string; params: object }, options: SendOptions): Promise<object> {
    const { signal, expiry, onprogress, headers, onWait } = options;
    const both = AbortSignal.any([signal, expiry]);
    const limits = { signal: both, timeout: NO_TIMEOUT_MS, ...(onprogress && { onprogress }), ...(headers && { headers }) };
    const work = () => client.request(request as { method: string; params: Record<string, unknown> }, RawResult, limits);
    try {
      return await refusal.orElse(wire.during({ signal: both, ...(onWait && { onWait }) }, work));
    } catch (error) {
      signal.throwIfAborted();
      const failure = toFailure(error, options);
      if (failure instanceof McpRefused && (await showsLostSession(failure))) {
        lost_session = true;
        if (failure.unexecuted) throw new McpLost(failure.message, { sent: false, cause: failure });
      }
      if (failure instanceof McpLost) lost_session = true;
      throw failure;
    }
  }

  async function keepOpen<T>(work: () => Promise<T>): Promise<T> {
    uses += 1;
    try {
      return await work();
    } finally {
      uses -= 1;
      if (uses === 0) {
        idle.resolve();
        idle = Promise.withResolvers<void>();
      }
    }
  }

  return {
    ping: async () => (await ping()) === 'alive',
    hasLostSession: () => lost_session,
    keepOpen,
    whenIdle: () => (uses === 0 ? Promise.resolve() : idle.promise),
    send: (request, options) => keepOpen(() => send(request, options)),
  };
}
