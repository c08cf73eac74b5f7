import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { isMcpSignInNeeded } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { findOutsideRefusal } from '../../domain/outside.ts';
import { getReason } from '../../domain/reason.ts';
import { ToolUnreachable } from '../source.ts';
import type { PersonalFetch } from './bearer.ts';
import type { McpTarget } from './config.ts';
import type { ConnectPorts } from './connect-ports.ts';
import { connect, type McpConnection } from './connection.ts';
import { McpLost } from './failures.ts';

/**
 * A server and the principal in whose name it is used. Principals never share a connection. Runs share one, unless the server
 * has asked a person something: a question does not show which call it belongs to.
 */
interface McpPlace {
  target: McpTarget;
  principal: string;
  /** The run whose calls use the connection. */
  task_id?: string;
}

export interface McpPool {
  /**
   * Runs `work` with a connection, which stays open until `work` has ended. Throws ToolUnreachable if none can be opened,
   * `mcp_sign_in_needed` if the principal has to sign in,
   * the signal's reason if aborted, and any error of `work`. With `patience_ms`, a server that is lost is tried again until it has
   * been lost for that long; the work is then repeated from its beginning. `report` receives what takes long.
   */
  use<T>(
    place: McpPlace,
    work: (connection: McpConnection) => Promise<T>,
    signal: AbortSignal,
    options?: { patience_ms?: number; report?: ((sentence: string) => void) | undefined },
  ): Promise<T>;
  close(): Promise<void>;
}

/** One use of a connection. If it is eager, a server that was down a moment ago is tried at once. */
interface Use {
  place: McpPlace;
  signal: AbortSignal;
  eager: boolean;
  report?: ((sentence: string) => void) | undefined;
}

export interface PoolOptions extends ConnectPorts {
  version: string;
  /** Returns a `fetch` with the principal's sign-in at the server. */
  fetchFor?: (place: McpPlace) => PersonalFetch;
  /** The time after which unused connections are closed. */
  idle_ms?: number;
  /** A connection idle for this long is checked before use. */
  check_after_ms?: number;
}

interface Entry {
  connection: Promise<McpConnection> | null;
  users: number;
  used_at: number;
  failures: number;
  /** Since when the server is lost; null: it is not. */
  lost_at: number | null;
  retry_at: number;
  last_error: Error | null;
}

const IDLE_MS = 5 * 60_000;
const CHECK_AFTER_MS = 30_000;
const SWEEP_MS = 30_000;
const FIRST_BACK_OFF_MS = 500;
const LONGEST_BACK_OFF_MS = 30_000;
const LONGEST_PATIENT_WAIT_MS = 4_000;

/** The most unused connections, so that many principals do not use up the processes that all share. */
const MOST_UNUSED = 64;

/** Manages this worker's connections, one for each principal, server and set of credentials. Each is opened when first needed. */
export function createMcpPool(options: PoolOptions): McpPool {
  const { idle_ms = IDLE_MS, check_after_ms = CHECK_AFTER_MS } = options;
  const entries = new Map<string, Entry>();
  /** The keys of the shared connections whose servers ask, while there are connections to them. */
  const asking = new Set<string>();
  const closing = new AbortController();

  async function getConnection(entry: Entry, { place, eager, report }: Use): Promise<McpConnection> {
    const connection = await entry.connection?.catch(() => null);
    if (connection && !connection.isClosed() && (performance.now() - entry.used_at < check_after_ms || (await connection.ping())))
      return connection;
    // Other calls may still get their answers through it, also those that are between two requests.
    if (connection && entry.connection)
      void connection
        .whenIdle()
        .then(() => connection.close())
        .catch(() => {});
    if (!eager && entry.last_error && performance.now() < entry.retry_at) throw asUnreachable(entry.last_error);
    entry.connection = openConnection(entry, place, report);
    return entry.connection;
  }

  async function openConnection(entry: Entry, place: McpPlace, report: Use['report']): Promise<McpConnection> {
    try {
      const { fetchFor } = options;
      const ports = { ...options, ...fetchFor?.(place), report, principal: place.principal };
      const connection = await connect(place.target, ports, options.version);
      if (closing.signal.aborted) {
        await connection.close();
        throw createShutDown();
      }
      Object.assign(entry, { failures: 0, retry_at: 0 });
      return connection;
    } catch (error) {
      entry.connection = null;
      // The server is not at fault: it is tried again as soon as the person has signed in, or the installation has resources.
      if (isMcpSignInNeeded(error)) throw error;
      if (findOutage(error)) throw asUnreachable(error as Error);
      entry.last_error = error as Error;
      entry.lost_at ??= performance.now();
      // The first failure may be chance; after the second, the server is not tried for a while.
      entry.retry_at =
        entry.failures === 0 ? 0 : performance.now() + Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** entry.failures);
      entry.failures += 1;
      throw asUnreachable(entry.last_error);
    }
  }

  async function closeIdle(): Promise<void> {
    for (const [key, entry] of entries) {
      if (entry.users > 0 || performance.now() - entry.used_at < idle_ms || performance.now() < entry.retry_at) continue;
      await closeUnused(key, entry);
    }
  }
  async function closeUnused(key: string, entry: Entry): Promise<void> {
    entries.delete(key);
    const shared = key.split(':')[0]!;
    if (![...entries.keys()].some((other) => other.startsWith(shared))) asking.delete(shared);
    await entry.connection?.then((it) => it.close()).catch(() => {});
  }
  function closeBeyondMost(): void {
    const unused = [...entries]
      .filter(([, entry]) => entry.users === 0 && entry.connection)
      .sort(([, a], [, b]) => a.used_at - b.used_at);
    for (const [key, entry] of unused.slice(0, -MOST_UNUSED)) void closeUnused(key, entry);
  }
  const sweep = setInterval(() => void closeIdle(), Math.min(SWEEP_MS, idle_ms));
  sweep.unref();

  const joining = new Map<Entry, Promise<McpConnection>>();
  /** Joins all callers that wait for the same connection in one attempt. */
  function joinConnection(entry: Entry, use: Use): Promise<McpConnection> {
    const attempt = joining.get(entry) ?? getConnection(entry, use).finally(() => joining.delete(entry));
    joining.set(entry, attempt);
    return attempt;
  }

  /** Runs `work` with the connection of this `key`, which is opened if there is none. */
  async function withConnection<T>(key: string, use: Use, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    const entry = entries.get(key) ?? newEntry();
    entries.set(key, entry);
    entry.users += 1;
    const workOnce = async () => {
      const connection = await unlessAborted(joinConnection(entry, use), use.signal);
      return connection.keepOpen(() => work(connection));
    };
    try {
      const result = await workOnce().catch(async (error: unknown) => {
        if (error instanceof McpLost) entry.lost_at ??= performance.now();
        // The server has lost the session, as after a restart. The next connection has a new one.
        if (!(error instanceof McpLost) || error.sent) throw error;
        return workOnce();
      });
      entry.lost_at = null;
      return result;
    } finally {
      entry.users -= 1;
      entry.used_at = performance.now();
      closeBeyondMost();
    }
  }

  async function withPlace<T>(use: Use, work: (connection: McpConnection) => Promise<T>): Promise<T> {
    const { place } = use;
    if (closing.signal.aborted) throw createShutDown();
    const shared = hashKey(place);
    const own = place.task_id ? `${shared}:${place.task_id}` : shared;
    if (asking.has(shared)) return withConnection(own, use, work);
    const answer = await withConnection(shared, use, async (connection) => {
      if (own !== shared && connection.hasAsked()) return { elsewhere: true } as const;
      return { result: await work(connection) };
    });
    if (!('elsewhere' in answer)) return answer.result;
    asking.add(shared);
    return withConnection(own, use, work);
  }

  /** Returns how long a lost server is still waited for. */
  function getLeftMs(place: McpPlace, patience_ms: number): number {
    const now = performance.now();
    return (entries.get(hashKey(place))?.lost_at ?? now) + patience_ms - now;
  }

  return {
    async use(place, work, signal, { patience_ms = 0, report } = {}) {
      for (let waits = 0; ; waits += 1) {
        try {
          return await withPlace({ place, signal, eager: patience_ms > 0, report }, work);
        } catch (error) {
          const is_lost =
            error instanceof McpLost || (error instanceof ToolUnreachable && !findOutage(error) && !findOutsideRefusal(error));
          const left_ms = getLeftMs(place, patience_ms);
          if (!is_lost || closing.signal.aborted || patience_ms === 0 || left_ms <= 0) throw error;
          if (waits === 0) report?.(`Waiting for the MCP server ${place.target.name}: ${getReason(error)}`);
          const wait_ms = Math.min(left_ms, LONGEST_PATIENT_WAIT_MS, FIRST_BACK_OFF_MS * 2 ** waits);
          await setTimeout(wait_ms, undefined, { signal: AbortSignal.any([signal, closing.signal]) }).catch(() => {});
          signal.throwIfAborted();
        }
      }
    },
    async close() {
      closing.abort();
      clearInterval(sweep);
      const all = [...entries.values()].map((entry) => entry.connection?.then((it) => it.close()).catch(() => {}));
      entries.clear();
      await Promise.all(all);
    },
  };
}

const createShutDown = () => new ToolUnreachable('The worker is shutting down');

const asUnreachable = (error: Error) => new ToolUnreachable(error.message, { cause: error });

const newEntry = (): Entry => ({
  connection: null,
  users: 0,
  used_at: 0,
  failures: 0,
  lost_at: null,
  retry_at: 0,
  last_error: null,
});

/** Hashes a connection's key, because the key contains secrets. */
const hashKey = ({ target, principal }: McpPlace) =>
  createHash('sha256')
    .update(JSON.stringify([principal, target]))
    .digest('base64url');

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
