import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { buildClientConfig } from '../store/database/database.ts';
import { isAlive, type ProcessMark } from './processes.ts';

export interface PostgresAccess {
  port: number;
  password: string;
}

export const USER = 'perdura';
const PATIENCE_MS = 10_000;
/** The time limit for an answer. Creating the database takes some seconds on a slow disk. */
const ANSWER_MS = 60_000;
/** The code of a server that is starting, recovering or shutting down. Recovery has no time limit. */
const CANNOT_CONNECT_NOW = '57P03';

export const connectionUrl = ({ port, password }: PostgresAccess, database: string): string =>
  `postgresql://${USER}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;

/** True if a live server accepts connections within the time limit. */
export async function answers(access: PostgresAccess, mark: ProcessMark): Promise<boolean> {
  let patience = performance.now() + PATIENCE_MS;
  for (; performance.now() < patience && (await isAlive(mark)); await sleep(200)) {
    const refusal = await withClient(access, 'postgres', () => undefined).catch((error: unknown) => error);
    if (refusal === undefined) return true;
    const code = refusal instanceof pg.DatabaseError ? refusal.code : undefined;
    if (code === CANNOT_CONNECT_NOW) patience = performance.now() + PATIENCE_MS;
    else if (code !== undefined) throw refusal;
  }
  return false;
}

export async function ensureDatabase(access: PostgresAccess, name: string): Promise<void> {
  await withClient(access, 'postgres', async (client) => {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (!rowCount) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  });
}

async function withClient<T>(access: PostgresAccess, database: string, use: (client: pg.Client) => T | Promise<T>): Promise<T> {
  const client = new pg.Client({
    ...buildClientConfig(connectionUrl(access, database), 'perdura start'),
    connectionTimeoutMillis: 2_000,
    query_timeout: ANSWER_MS,
  });
  // If the server dies meanwhile, the query fails too and reports it.
  client.on('error', () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}
