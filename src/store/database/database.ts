import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { OutageError } from '../../domain/outages.ts';
import { type Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import { planForValues } from './installation.sql.ts';
import { CONNECT_MS, OutagePool, PooledClient, replaceSilent } from './silent-connections.ts';

/** One pool for both clients: Prisma for resources, prepared SQL for the statements on a run's hot path. */
export interface Database {
  pool: pg.Pool;
  prisma: PrismaClient;
  /** Returns true if as many statements wait for a connection as can be served in time. */
  isCrowded(): boolean;
  close(): Promise<void>;
}

interface DatabaseOptions {
  url: string;
  max_connections?: number;
  /** True if the address is that of a pooler which shares connections between transactions, such as PgBouncer. */
  pooled?: boolean;
  /** Called when an idle connection breaks; the pool replaces it. */
  on_error?: (error: Error) => void;
}

/** The time that a caller waits for a connection of a pool whose connections are all in use. */
const POOL_WAIT_MS = 10_000;
/** The number of callers that may wait for each connection before further requests are refused. */
const WAITING_PER_CONNECTION = 50;
/** The time limit for the answer to a statement. */
const STATEMENT_MS = 15_000;
/**
 * The limit on the path of a run and of a stream, where rows are found by their keys. A silent connection stalls them for this
 * long.
 */
export const RUN_STATEMENT_MS = 4_000;
/** The limit for statements that read many rows, and for the server's work on a statement whose client has given up. */
export const LONG_STATEMENT_MS = 60_000;
/** The time that the server keeps a transaction, with its locks, after its client has fallen silent. */
const IDLE_IN_TRANSACTION_MS = 5_000;

/** Builds the configuration of every connection to the database: one that is silent is noticed within seconds. */
export const buildClientConfig = (url: string, name: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: name,
  connectionTimeoutMillis: CONNECT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: CONNECT_MS,
});

/** Settings of a session. A pooler gives the next transaction another session, so it has to set them itself. */
export const SESSION = {
  statement_timeout: LONG_STATEMENT_MS,
  idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
} as const satisfies pg.PoolConfig;

export function openDatabase(options: DatabaseOptions): Database {
  const { url, max_connections = 20, pooled = false, on_error = () => {} } = options;
  const pool = new OutagePool({
    ...buildClientConfig(url, 'perdura'),
    Client: PooledClient as never,
    max: max_connections,
    connectionTimeoutMillis: POOL_WAIT_MS,
    query_timeout: STATEMENT_MS,
    ...(pooled ? { unnamed: true } : SESSION),
  } as pg.PoolConfig);
  pool.on('error', on_error);
  const end = replaceSilent(pool, buildClientConfig(url, 'perdura probe'));
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    pool,
    prisma,
    isCrowded: () => pool.waitingCount >= max_connections * WAITING_PER_CONNECTION,
    async close() {
      await prisma.$disconnect();
      await end();
    },
  };
}

/** The pool, or a connection of it in a transaction. */
export interface Queryable {
  query(statement: pg.QueryConfig): Promise<pg.QueryResult>;
}

/** Returns the same pool with another time limit per statement. */
export const withTimeLimit = (pool: Queryable, query_timeout: number): Queryable => ({
  query: (statement) => pool.query({ ...statement, query_timeout } as pg.QueryConfig),
});

/** Returns the rows of a prepared statement. */
export async function rows<R>(pool: Queryable, query: pg.QueryConfig): Promise<R[]> {
  const { rows: result } = await pool.query(query);
  return result as R[];
}

export async function row<R>(pool: Queryable, query: pg.QueryConfig): Promise<R | undefined> {
  return (await rows<R>(pool, query))[0];
}

/** Returns the row of a statement that always has one, such as a count. */
export async function onlyRow<R>(pool: Queryable, query: pg.QueryConfig): Promise<R> {
  const found = await row<R>(pool, query);
  if (found === undefined) throw new Error(`The statement ${query.name ?? query.text} returned no row`);
  return found;
}

/**
 * Returns the rows of a prepared statement that belongs to a transaction of Prisma, or may: it is sent on Prisma's connection. Await
 * it, or give it to `prisma.$transaction`.
 */
export const rowsWithin = <R>(on: Prisma.TransactionClient, { text, values }: pg.QueryConfig): Prisma.PrismaPromise<R[]> =>
  on.$queryRawUnsafe<R[]>(text, ...values!);

/**
 * Reads whose statements are planned for their values, for filters that find few rows or most of them. The embedded server plans once
 * for any value, which is right for statements that find rows by their keys.
 */
export const withCustomPlans = <T>(pool: pg.Pool, read: (connection: Queryable) => Promise<T>): Promise<T> =>
  inTransaction(pool, async (connection) => {
    await connection.query(planForValues());
    return read(connection);
  });

/** Runs `work` in one transaction; an error rolls it back. */
export async function inTransaction<T>(pool: pg.Pool, work: (connection: Queryable) => Promise<T>): Promise<T> {
  const connection = await pool.connect();
  let connection_error: Error | undefined;
  const markBroken = (error: Error) => {
    connection_error = error;
  };
  // The pool handles errors of idle connections only; without this listener a lost connection would end the process.
  connection.on('error', markBroken);
  try {
    await connection.query('BEGIN');
    const done = await work(connection);
    await connection.query('COMMIT');
    return done;
  } catch (error) {
    await connection.query('ROLLBACK').catch(markBroken);
    // The session of this connection may lack things that other sessions have, such as its prepared statements.
    if (error instanceof OutageError) connection_error ??= error;
    throw error;
  } finally {
    connection.off('error', markBroken);
    connection.release(connection_error);
  }
}
