import type { Socket } from 'node:net';
import pg from 'pg';
import { connectionOutage, statementError } from './database-outages.ts';
import { workingBackends } from './installation.sql.ts';

/**
 * How long a statement may go unanswered before the server is asked whether it works on it. Asked again each time that it has doubled,
 * and sooner if it does not work on it: on a busy machine, the server may not have got round to reading it.
 */
const DOUBT_MS = 500;
const SECOND_DOUBT_MS = 250;
const LOOK_MS = 250;
/** How long the server may take to say on which statements it works. */
const REPLY_MS = 1_000;
/** How long a connection may take to open. */
export const CONNECT_MS = 5_000;

/** What `pg` says of a connection that did not answer in time, and of one that was closed for it. */
const SILENT = /^Query read timeout|^Client was closed/;

const isSilent = (error: Error): boolean =>
  SILENT.test(error.message) || (error.cause instanceof Error && SILENT.test(error.cause.message));

type Acquired = Parameters<pg.Pool['connect']>[0];
type Answered = (error: unknown, result?: unknown) => void;

/** Whatever a connection, or the wait for one, fails with is an outage. */
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
 * The one way in which statements reach the database: what they fail with is an outage unless it is about the statement. A connection that
 * did not answer in time is closed: the next statement on it would wait behind the first.
 */
export class PooledClient extends pg.Client {
  constructor(config: PooledConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_MS });
    // The pool listens while it has the connection, and not any more while it closes it.
    this.on('error', () => {});
    const query = this.query.bind(this) as (...args: unknown[]) => unknown;
    const toStatementError = (error: unknown) => {
      if (error instanceof Error && isSilent(error)) void this.end();
      return statementError(error, this.broken);
    };
    this.query = ((...args: unknown[]) => {
      const given = config.unnamed ? withoutName(args) : args;
      const callback = given.at(-1);
      if (typeof callback !== 'function') return mapRejection(query(...given), toStatementError);
      const onAnswer: Answered = (error, result) => callback(error && toStatementError(error), result);
      return query(...given.slice(0, -1), onAnswer);
    }) as typeof this.query;
  }

  /** A connection that breaks reports that to its user. */
  override emit(...[name, ...given]: Parameters<pg.Client['emit']>): boolean {
    return super.emit(name, ...(name === 'error' ? [connectionOutage(given[0])] : given));
  }

  /** The types of `pg` lack what it knows about its connection. */
  private get broken(): boolean {
    const { _queryable, _ending, _ended } = this as unknown as Record<string, boolean>;
    return !_queryable || Boolean(_ending) || Boolean(_ended);
  }

  /** The statement whose answer is awaited. */
  get unanswered(): unknown {
    return (this as unknown as { _getActiveQuery(): unknown })._getActiveQuery();
  }

  /** The server's process for this connection. */
  get backend(): number {
    return (this as unknown as { processID: number }).processID;
  }

  /** Lets the process end although the connection is open. The types of `pg` lack it. */
  declare unref: () => void;

  /** Closes without a goodbye, which a silent server would not answer. */
  drop(): void {
    (this as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  }
}

function mapRejection(answer: unknown, failed: (error: unknown) => unknown): unknown {
  if (!(answer instanceof Promise)) return answer;
  return answer.catch((error: unknown) => {
    throw failed(error);
  });
}

interface PooledConfig extends pg.ClientConfig {
  /** Statements are not prepared under their names, which a pooler that shares connections between transactions would lose. */
  unnamed?: boolean;
}

/** The arguments of a query without the name of its statement. */
function withoutName([statement, ...rest]: unknown[]): unknown[] {
  if (typeof statement !== 'object' || statement === null || !('name' in statement)) return [statement, ...rest];
  const { name: _, ...unnamed } = statement;
  return [unnamed, ...rest];
}

interface Wait {
  statement: unknown;
  since: number;
  ask_at: number;
  /** The last time it was asked, the server did not work on it. */
  denied: boolean;
}

/**
 * Replaces connections that have fallen silent, before their time limits. If a statement waits for its answer, a new connection asks
 * the server whether it works on that statement: if twice in a row it does not, either the statement or its answer was lost. The
 * waiting caller gets an error as from a broken connection. As soon as one connection is known to be silent, those that are idle are replaced as well.
 * Returns a function that closes the pool.
 */
export function replaceSilent(pool: pg.Pool, config: pg.ClientConfig): () => Promise<void> {
  const { busy, dropIdle, all } = trackConnections(pool);
  let asking = false;
  async function replaceLostConnections(): Promise<void> {
    const doubted = [...busy].filter(([client, wait]) => isDoubted(client, wait));
    if (asking || doubted.length === 0) return;
    asking = true;
    const working = await backendsAtWork(config);
    asking = false;
    const silent = doubted.filter(([client, wait]) => working && isLost(client, wait as Wait, working));
    for (const [client] of silent) client.drop();
    if (silent.length > 0) dropIdle();
  }
  function isDoubted(client: PooledClient, wait: Wait | null): boolean {
    const statement = client.unanswered;
    const now = performance.now();
    if (wait && wait.statement === statement) return wait.ask_at <= now;
    busy.set(client, statement ? { statement, since: now, ask_at: now + DOUBT_MS, denied: false } : null);
    return false;
  }
  const watch = setInterval(() => void replaceLostConnections(), LOOK_MS).unref();
  return async () => {
    clearInterval(watch);
    const open = all();
    if (!pool.ended) await pool.end();
    // A silent server does not answer the goodbye, and must not keep this process alive.
    for (const client of open) client.unref();
  };
}

/** The connections of a pool that are in use. One that came to its time limit takes those that are idle with it. */
function trackConnections(pool: pg.Pool) {
  const idle = new Set<PooledClient>();
  const busy = new Map<PooledClient, Wait | null>();
  const dropIdle = () => {
    for (const client of idle) client.drop();
  };
  // The class that the pool was given.
  const own = (client: pg.PoolClient) => client as unknown as PooledClient;
  pool.on('acquire', (acquired) => {
    idle.delete(own(acquired));
    busy.set(own(acquired), null);
  });
  pool.on('remove', (removed) => {
    idle.delete(own(removed));
    busy.delete(own(removed));
  });
  pool.on('release', (error, released) => {
    const client = own(released);
    busy.delete(client);
    if (!error) idle.add(client);
    else if (isSilent(error)) dropIdle();
  });
  return { busy, dropIdle, all: () => [...idle, ...busy.keys()] };
}

/** Whether nobody works on the statement for the second time, and no answer came while that was asked. Otherwise it is asked again later. */
function isLost(client: PooledClient, wait: Wait, working: ReadonlySet<number>): boolean {
  if (client.unanswered !== wait.statement) return false;
  const now = performance.now();
  const before = wait.denied;
  wait.denied = !working.has(client.backend);
  wait.ask_at = now + (wait.denied ? SECOND_DOUBT_MS : now - wait.since);
  return before && wait.denied;
}

/** The server's processes that work on a statement. Null if it does not answer, or if a pooler in between has its own numbers. */
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
