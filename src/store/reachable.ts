import pg from 'pg';
import { connectionTo } from './database.ts';

/** Postgres does not take connections from here: a sentence with its address and what it answered. */
export class DatabaseUnreachable extends Error {}

/** Opens a connection that is ready for statements, and throws `DatabaseUnreachable` if it cannot. */
export async function connectTo(url: string, name: string): Promise<pg.Client> {
  const client = new pg.Client(connectionTo(url, name));
  // An error after a failed attempt says nothing new.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    const { host, port, database } = client;
    throw new DatabaseUnreachable(
      `Postgres at ${host}:${port}, database ${database}, cannot be used (DATABASE_URL): ${reasonOf(error)}`,
    );
  }
}

export async function requireReachable(url: string): Promise<void> {
  const client = await connectTo(url, 'perdura start');
  await client.end();
}

/** An attempt at several addresses fails with all of their errors and no message. */
const reasonOf = (error: unknown): string =>
  error instanceof AggregateError ? error.errors.map(({ message }: Error) => message).join('; ') : (error as Error).message;
