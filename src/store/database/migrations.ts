import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import { openConnection } from './reachable.ts';

/** The lock id of Prisma's own engine, so that the two never migrate at once. */
const ADVISORY_LOCK = 72707369;

const BOOKKEEPING = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL,
  logs TEXT, rolled_back_at TIMESTAMPTZ, started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`;

const KNOWN = 'SELECT migration_name, checksum, finished_at, logs FROM _prisma_migrations WHERE rolled_back_at IS NULL';
const HAS_BOOKKEEPING = "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS present";

/**
 * A comment in a migration that names the oldest version that may run next to the new ones, by the name of that version's last
 * migration.
 */
const SERVES_FROM = /^-- Serves versions from: (\S+)$/m;

interface Noted {
  migration_name: string;
  /**
   * The oldest version that still works on the schema, by the name of its last migration; null: only versions that know the
   * migration work.
   */
  logs: string | null;
}

interface Applied extends Noted {
  checksum: string;
  finished_at: Date | null;
}

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/**
 * Applies missing migrations and records them as Prisma does, so `prisma migrate deploy` still works. Returns their names.
 * If killed at any moment, it leaves each migration either applied and recorded, or neither.
 */
export async function applyMigrations(url: string, folder: string): Promise<string[]> {
  const client = await openConnection(url, 'perdura migrations');
  try {
    await client.query(`SELECT pg_advisory_lock(${ADVISORY_LOCK})`);
    await client.query(BOOKKEEPING);
    const { rows: history } = await client.query<Applied>(KNOWN);
    const migrations = await loadMigrations(folder);
    refuseNewer(history, migrations);
    const new_names: string[] = [];
    for (const migration of migrations) if (await apply(client, migration, history)) new_names.push(migration.name);
    return new_names;
  } finally {
    await client.end();
  }
}

/**
 * Throws a sentence if the database's schema is older than this code, or if it is newer and not marked as serving this version.
 * Returns the number of this code's migrations.
 */
export async function requireOwnSchema(database: Pick<pg.Pool, 'query'>, folder: string): Promise<number> {
  const migrations = await loadMigrations(folder);
  const history = await listAppliedMigrations(database);
  refuseNewer(history, migrations);
  const applied_names = new Set(history.filter(({ finished_at }) => finished_at).map(({ migration_name }) => migration_name));
  const missing = migrations.filter(({ name }) => !applied_names.has(name));
  if (missing.length === 0) return migrations.length;
  const count = missing.length === 1 ? '1 migration is' : `${missing.length} migrations are`;
  throw new Error(
    `The database schema is older than this version of Perdura: ${count} missing, the last is ${missing.at(-1)?.name}. Run perdura migrate.`,
  );
}

/** Lists the migrations that the database has recorded; none in an empty database. */
export async function listAppliedMigrations(database: Pick<pg.Pool, 'query'>): Promise<Applied[]> {
  const { rows } = await database.query<{ present: boolean }>(HAS_BOOKKEEPING);
  return rows[0]?.present ? (await database.query<Applied>(KNOWN)).rows : [];
}

/** Throws a sentence if this code is too old to work on a database with these migrations. */
export async function refuseNewerSchema(history: Noted[], folder: string): Promise<void> {
  refuseNewer(history, await loadMigrations(folder));
}

function refuseNewer(history: Noted[], migrations: Migration[]): void {
  refuseUnreleased(history, migrations[0]!.name);
  const ours = new Set(migrations.map(({ name }) => name));
  const newest = migrations.at(-1)!.name;
  const newer_migration = history.find(({ migration_name, logs }) => !ours.has(migration_name) && (!logs || logs > newest));
  if (!newer_migration) return;
  throw new Error(
    `The database schema is newer than this version of Perdura, which does not work with its migration ${newer_migration.migration_name}. Start the newer version, or restore the backup from before the upgrade.`,
  );
}

function refuseUnreleased(history: Noted[], first: string): void {
  if (!history.some(({ migration_name }) => migration_name < first)) return;
  throw new Error(
    'This database was made by a version before 0.1.0, which cannot be upgraded. Start that version once more and run `perdura export --output installation.json`; ' +
      'then start this version with another PERDURA_HOME or DATABASE_URL and run `perdura import installation.json`.',
  );
}

async function loadMigrations(folder: string): Promise<Migration[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration, history: Applied[]): Promise<boolean> {
  const before = history.find(({ migration_name }) => migration_name === name);
  if (before?.finished_at && before.checksum !== checksum)
    throw new Error(`The migration ${name} was edited after it was applied`);
  if (before?.finished_at) return false;
  await client.query('BEGIN');
  try {
    // `prisma migrate deploy` records a migration before it applies it.
    if (before) await client.query('DELETE FROM _prisma_migrations WHERE migration_name = $1 AND finished_at IS NULL', [name]);
    await client.query(
      'INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count, logs) VALUES ($1, $2, $3, now(), 1, $4)',
      [uuid(), checksum, name, SERVES_FROM.exec(sql)?.[1] ?? null],
    );
    await client.query(sql);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    const { message, hint } = error as Error & { hint?: string };
    throw new Error(`The migration ${name} failed and left nothing behind: ${hint ? `${message}. ${hint}` : message}`, {
      cause: error,
    });
  }
  return true;
}
