import pg from 'pg';
import { dropConnection, getBackend, getUnanswered, isBroken, unrefConnection } from '../../vendor/pg-internals.ts';
import { connectionOutage, statementError } from './database-outages.ts';
import { workingBackends } from './installation.sql.ts';

/**
 * The time after which the server is asked if it works on an unanswered statement. It is asked again each time the wait has
 * doubled, and sooner if it does not work on the statement: on a busy machine, it may not have read it yet.
 */
const DOUBT_MS = 500;
const SECOND_DOUBT_MS = 250;
const LOOK_MS = 250;
/** The time limit for the server's list of the statements that it works on. */
const REPLY_MS = 1_000;
/** The time limit for opening a connection. */
export const CONNECT_MS = 5_000;

/** The errors of `pg` for a connection that did not answer in time, and for one that was closed for that reason. */
const SILENT = /^Query read timeout|^Client was closed/;

const isSilent = (error: Error): boolean =>
  SILENT.test(error.message) || (error.cause instanceof Error && SILENT.test(error.cause.message));

type Acquired = Parameters<pg.Pool['connect']>[0];
type Answered = (error: unknown, result?: unknown) => void;

/** A pool in which any failure of a connection, or of the wait for one, is an outage. */
export class OutagePool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Acquired): void;
  override connect(callback?: Acquired): Promise<pg.PoolClient> | undefined {
    if (!callback)
      return super.connect().catch((error: unknown) => {
        throw connectionOutage(error);
      });
    super.connect((error, client, release) => callback(error && connectionOutage(error), client, release));
    return undefined;
  }
}

/**
 * A connection that every statement passes through. Its errors are outages, unless they are about the statement. It is closed if
 * it did not answer in time: the next statement on it would wait behind the first.
 */
export class PooledClient extends pg.Client {
  constructor(config: PooledConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_MS });
    // The pool listens as long as it has the connection, but no longer while it closes it.
    this.on('error', () => {});
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    const toStatementError = (error: unknown) => {
      if (error instanceof Error && isSilent(error)) void this.end();
      return statementError(error, this.broken);
    };
    this.query = ((...args: unknown[]) => {
      const statement_args = config.unnamed ? withoutName(args) : args;
      const callback = statement_args.at(-1);
      if (typeof callback !== 'function')
        return (query(...statement_args) as Promise<unknown>).catch((error: unknown) => {
          throw toStatementError(error);
        });
      const onAnswer: Answered = (error, result) => callback(error && toStatementError(error), result);
      return query(...statement_args.slice(0, -1), onAnswer);
    }) as typeof this.query;
  }

  /** Reports a broken connection to its user as an outage. */
  override emit(...[name, ...event_args]: Parameters<pg.Client['emit']>): boolean {
    return super.emit(name, ...(name === 'error' ? [connectionOutage(event_args[0])] : event_args));
  }

  /** True if the connection can no longer be used. The types of `pg` lack these fields. */
  private get broken(): boolean {
    return isBroken(this);
  }

  /** The statement that waits for its answer. */
  get unanswered(): unknown {
    return getUnanswered(this);
  }

  /** The id of the server's process for this connection. */
  get backend(): number {
    return getBackend(this);
  }

  /** Closes the connection without the protocol's goodbye, which a silent server would not answer. */
  drop(): void {
    dropConnection(this);
  }
}

interface PooledConfig extends pg.ClientConfig {
  /**
   * True if statements must not be prepared under names, which a pooler that shares connections between transactions would lose.
   */
  unnamed?: boolean;
}

/** Returns the arguments of a query without the name of its statement. */
function withoutName([statement, ...rest]: unknown[]): unknown[] {
  if (typeof statement === 'string') return [statement, ...rest];
  const { name: _, ...unnamed } = statement as pg.QueryConfig;
  return [unnamed, ...rest];
}

interface Wait {
  statement: unknown;
  started_at: number;
  ask_at: number;
  /** True if the server did not work on the statement when it was last asked. */
  was_denied: boolean;
}

/**
 * Replaces connections that have fallen silent, before their time limits. If a statement waits for its answer, a new connection
 * asks the server if it works on that statement. If it does not, twice in a row, either the statement or its answer was lost, and
 * the waiting caller gets an error as from a broken connection. As soon as one connection is known to be silent, the idle ones
 * are replaced as well. Returns a function that closes the pool.
 */
export function replaceSilent(pool: pg.Pool, config: pg.ClientConfig): () => Promise<void> {
  const { busy, dropIdle, all } = trackConnections(pool);
  let asking = false;
  async function replaceLostConnections(): Promise<void> {
    const suspects = [...busy].filter(([client, wait]) => isDoubted(client, wait));
    if (asking || suspects.length === 0) return;
    asking = true;
    const working = await backendsAtWork(config);
    asking = false;
    const silent = suspects.filter(([client, wait]) => working && isLost(client, wait as Wait, working));
    for (const [client] of silent) client.drop();
    if (silent.length > 0) dropIdle();
  }
  function isDoubted(client: PooledClient, wait: Wait | null): boolean {
    const statement = client.unanswered;
    const now = performance.now();
    if (wait && wait.statement === statement) return wait.ask_at <= now;
    busy.set(client, statement ? { statement, started_at: now, ask_at: now + DOUBT_MS, was_denied: false } : null);
    return false;
  }
  const watch = setInterval(() => void replaceLostConnections(), LOOK_MS).unref();
  return async () => {
    clearInterval(watch);
    const open = all();
    await pool.end();
    // A silent server does not answer the goodbye, but must not keep this process alive.
    for (const client of open) unrefConnection(client);
  };
}

/** Tracks the connections of a pool that are in use. If one reaches its time limit, the idle ones are closed as well. */
function trackConnections(pool: pg.Pool) {
  const idle = new Set<PooledClient>();
  const busy = new Map<PooledClient, Wait | null>();
  const dropIdle = () => {
    for (const client of idle) client.drop();
  };
  // The pool's connections have the class that it was given.
  const own = (client: pg.PoolClient) => client as unknown as PooledClient;
  pool.on('acquire', (acquired) => {
    idle.delete(own(acquired));
    busy.set(own(acquired), null);
  });
  pool.on('remove', (removed_client) => {
    idle.delete(own(removed_client));
    busy.delete(own(removed_client));
  });
  pool.on('release', (error, released) => {
    const client = own(released);
    busy.delete(client);
    if (!error) idle.add(client);
    else if (isSilent(error)) dropIdle();
  });
  return { busy, dropIdle, all: () => [...idle, ...busy.keys()] };
}

/**
 * True if the server did not work on the statement twice in a row, and no answer arrived while it was asked. Otherwise sets the
 * time at which it is asked again.
 */
function isLost(client: PooledClient, wait: Wait, working: ReadonlySet<number>): boolean {
  if (client.unanswered !== wait.statement) return false;
  const now = performance.now();
  const before = wait.was_denied;
  wait.was_denied = !working.has(client.backend);
  wait.ask_at = now + (wait.was_denied ? SECOND_DOUBT_MS : now - wait.started_at);
  return before && wait.was_denied;
}

/**
 * Returns the ids of the server's processes that work on a statement; null if it does not answer, or if a pooler in between has
 * its own ids.
 */
async function backendsAtWork(config: pg.ClientConfig): Promise<ReadonlySet<number> | null> {
  const client = new PooledClient({ ...config, query_timeout: REPLY_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number }>(workingBackends());
    const pids = new Set(rows.map(({ pid }) => pid));
    return pids.has(client.backend) ? pids : null;
  } catch {
    return null;
  } finally {
    client.drop();
  }
}
