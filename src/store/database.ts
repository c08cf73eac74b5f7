import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../generated/prisma/client.ts';

/** One pool for both: Prisma for resources, prepared SQL for the statements on a run's hot path. */
export interface Database {
  pool: pg.Pool;
  prisma: PrismaClient;
  close(): Promise<void>;
}

interface DatabaseOptions {
  url: string;
  max_connections?: number;
  /** Called when an idle connection breaks; the pool replaces it. */
  on_error?: (error: Error) => void;
}

export function openDatabase({ url, max_connections = 20, on_error = () => {} }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: max_connections,
    connectionTimeoutMillis: 10_000,
    application_name: 'perdura',
  });
  pool.on('error', on_error);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    pool,
    prisma,
    async close() {
      await prisma.$disconnect();
      if (!pool.ended) await pool.end();
    },
  };
}

/** The pool, or a connection of it in a transaction. */
export interface Queryable {
  query(statement: pg.QueryConfig): Promise<pg.QueryResult>;
}

/** The rows of a prepared statement. */
export async function rows<R>(pool: Queryable, query: pg.QueryConfig): Promise<R[]> {
  const { rows: found } = await pool.query(query);
  return found as R[];
}

export async function row<R>(pool: Queryable, query: pg.QueryConfig): Promise<R | undefined> {
  return (await rows<R>(pool, query))[0];
}

/** Does work in one transaction; an error rolls it back. */
export async function inTransaction<T>(pool: pg.Pool, work: (connection: Queryable) => Promise<T>): Promise<T> {
  const connection = await pool.connect();
  let broken: Error | undefined;
  const lost = (error: Error) => {
    broken = error;
  };
  // The pool handles errors of idle connections only; without this listener a lost connection would end the process.
  connection.on('error', lost);
  try {
    await connection.query('BEGIN');
    const done = await work(connection);
    await connection.query('COMMIT');
    return done;
  } catch (error) {
    await connection.query('ROLLBACK').catch(lost);
    throw error;
  } finally {
    connection.off('error', lost);
    connection.release(broken);
  }
}
