import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { v7 as uuid } from 'uuid';

/** The lock id of Prisma's own engine, so that the two never migrate at once. */
const ADVISORY_LOCK = 72707369;

const BOOKKEEPING = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL,
  logs TEXT, rolled_back_at TIMESTAMPTZ, started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

interface Applied {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
}

/** Applies missing migrations and records them as Prisma does, so `prisma migrate deploy` still works. Returns their names. */
export async function applyMigrations(url: string, folder: string): Promise<string[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(`SELECT pg_advisory_lock(${ADVISORY_LOCK})`);
    await client.query(BOOKKEEPING);
    const { rows: known } = await client.query<Applied>(
      'SELECT migration_name, checksum, finished_at FROM _prisma_migrations WHERE rolled_back_at IS NULL',
    );
    const failed = known.find(({ finished_at }) => !finished_at);
    if (failed)
      throw new Error(
        `The migration ${failed.migration_name} failed earlier; restore the database or mark it with prisma migrate resolve`,
      );
    const fresh: string[] = [];
    for (const migration of await migrationsIn(folder)) if (await apply(client, migration, known)) fresh.push(migration.name);
    return fresh;
  } finally {
    await client.end();
  }
}

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

export async function migrationsIn(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration, known: Applied[]): Promise<boolean> {
  const before = known.find(({ migration_name }) => migration_name === name);
  if (before && before.checksum !== checksum) throw new Error(`The migration ${name} was edited after it was applied`);
  if (before) return false;
  const id = uuid();
  await client.query('INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)', [id, checksum, name]);
  try {
    await client.query(sql);
  } catch (error) {
    await client.query('UPDATE _prisma_migrations SET logs = $2 WHERE id = $1', [id, String(error)]);
    throw error;
  }
  await client.query('UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1 WHERE id = $1', [id]);
  return true;
}
