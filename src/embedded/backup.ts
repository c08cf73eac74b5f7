import { mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import pg from 'pg';
import { makeReadable } from '../folders/readable.ts';
import { buildClientConfig } from '../store/database/database.ts';
import { listAppliedMigrations } from '../store/database/migrations.ts';
import { pack } from './archive.ts';
import { CLUSTER_COPY, ENGINE_COPY, KEPT, KEY, MANIFEST, type Manifest, readBackup } from './backup-contents.ts';
import { copyCluster } from './cluster-copy.ts';
import { exists, type Log, readJsonFile } from './files.ts';
import { takeLock } from './lock-file.ts';
import { startPostgres } from './postgres.ts';

export interface BackupOptions {
  home: string;
  file: string;
  version: string;
  with_key: boolean;
  /** True: an existing file is replaced. */
  force: boolean;
  /** Ends the backup early. */
  signal: AbortSignal;
  log: Log;
}

/**
 * Writes a backup of an installation with its own servers to one file, even while it runs. Resolves with the file's size.
 * Leaves either the whole file or none.
 */
export async function backUp(options: BackupOptions): Promise<number> {
  const { home, file, force } = options;
  if (!force && (await exists(file))) throw new Error(`${file} exists. Choose another name, or replace it with --force.`);
  await requireOwnServers(home);
  const lock = await takeLock(join(home, 'backup.lock'));
  if (!lock.held) throw new Error(`Process ${lock.holder.pid} is making a backup of ${home}. Wait for it, then try again.`);
  const draft = toDraftPath(file);
  try {
    // An earlier backup that was killed may have left its draft.
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await write(draft, options);
    await rename(join(draft, ARCHIVE), file);
    return (await stat(file)).size;
  } catch (error) {
    throw toPlainError(error as NodeJS.ErrnoException, file);
  } finally {
    await rm(draft, { recursive: true, force: true });
    await lock.release();
  }
}

async function requireOwnServers(home: string): Promise<void> {
  const present = await Promise.all(['postgres/data', 'temporal/temporal.db'].map((path) => exists(join(home, path))));
  if (present.every(Boolean)) return;
  throw new Error(
    present.some(Boolean)
      ? `The installation in ${home} uses an external database or engine: back them up as docs/backups.md describes.`
      : `There is no installation in ${home}. Set PERDURA_HOME to the home that you want to back up.`,
  );
}

/**
 * Copies the engine first, then the record, then the files. The reconciler repairs a record that is newer than its engine
 * without repeating a step; for an older record it would have to ask. The files of a row are written before the row, so the
 * later copy has them.
 */
async function write(draft: string, { home, with_key, version, signal, log }: BackupOptions): Promise<void> {
  const migrations = await withCluster(home, log, async (url) => {
    log('Copying the engine');
    await copyEngine(join(home, 'temporal/temporal.db'), join(draft, ENGINE_COPY));
    log('Copying the database');
    signal.throwIfAborted();
    await copyCluster(url, join(draft, CLUSTER_COPY), signal);
    return describeDatabase(url);
  });
  const manifest: Manifest = {
    format: 1,
    perdura: version,
    taken_at: new Date().toISOString(),
    processor: process.arch,
    with_key,
    ...migrations,
  };
  await writeFile(join(draft, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  log('Packing');
  // A file that nobody may read would end the backup.
  for (const path of WRITTEN_BY_TOOLS) await makeReadable(join(home, path));
  const included_paths = [];
  for (const path of KEPT) if ((with_key || path !== KEY) && (await exists(join(home, path)))) included_paths.push(path);
  const archive = join(draft, ARCHIVE);
  const members = [
    { folder: draft, paths: [MANIFEST, ENGINE_COPY, CLUSTER_COPY] },
    { folder: home, paths: included_paths },
  ];
  await pack(archive, members, signal);
  await readBackup(archive);
  signal.throwIfAborted();
  await seal(archive);
}

const ARCHIVE = 'archive';
const WRITTEN_BY_TOOLS = ['workspaces', 'mcp-state'];

/** Calls a function with the address of the home's Postgres: the running one, or one that runs only for this call. */
async function withCluster<T>(home: string, log: Log, use: (url: string) => Promise<T>): Promise<T> {
  const lock = await takeLock(join(home, 'dev.lock'));
  if (!lock.held) return use(await runningDatabase(home, lock.holder.pid));
  try {
    const postgres = await startPostgres({ home, log });
    return await use(postgres.url).finally(() => postgres.stop());
  } finally {
    await lock.release();
  }
}

async function runningDatabase(home: string, pid: number): Promise<string> {
  const ready = await readJsonFile<{ database_url: string; pids: Record<string, number> }>(join(home, 'ready.json'));
  if (!ready || ready.pids.api !== pid)
    throw new Error(`Perdura, process ${pid}, is starting or stopping in ${home}. Try again when it is ready.`);
  if (ready.pids.postgres && ready.pids.temporal) return ready.database_url;
  throw new Error(
    `The installation in ${home} runs with an external database or engine: back them up as docs/backups.md describes.`,
  );
}

async function describeDatabase(url: string): Promise<Pick<Manifest, 'postgres' | 'migrations'>> {
  const client = new pg.Client(buildClientConfig(url, 'perdura backup'));
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
    const postgres = rows[0]!.server_version.split('.')[0]!;
    const migrations = await listAppliedMigrations(client);
    return { postgres, migrations: migrations.map(({ migration_name, logs }) => ({ migration_name, logs })) };
  } finally {
    await client.end();
  }
}

/** Makes a file readable only by its owner, and syncs it to the disk. */
async function seal(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  try {
    await handle.chmod(0o600);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const toDraftPath = (file: string) => `${file}.perdura-part`;

const FULL = /ENOSPC|EDQUOT|no space left|disk is full|quota exceeded/i;

/** Returns the error of a backup to a file as a sentence that says what to do, if its cause is known. */
export function toPlainError(error: NodeJS.ErrnoException, file: string): Error {
  const place = dirname(file);
  if (error.name === 'AbortError') return new Error('Stopped: no backup was written');
  if (FULL.test(error.message))
    return new Error(
      `The disk of ${place} is full, and no backup was written. While a backup is made it needs room for an unpacked copy of the home and for ${basename(file)}.`,
    );
  // 57P: Postgres was shut down.
  if (error.code?.startsWith('57P') || /^Connection terminated/.test(error.message))
    return new Error('Perdura was stopped while its database was copied, and no backup was written. Try again.');
  if (error.path?.startsWith(toDraftPath(file))) return new Error(`${place} cannot be written to: ${error.message}`);
  return error;
}

/**
 * Copies a SQLite database to a new file, even while a server writes to it. The copy holds the state of one moment, including
 * its journal. Writers do not wait.
 */
async function copyEngine(database: string, file: string): Promise<void> {
  const { DatabaseSync } = await import('node:sqlite').catch(() => {
    throw new Error(`Backups need Node 22.13 or newer, and this is ${process.versions.node}`);
  });
  // The engine's schema has double-quoted string literals.
  const open = new DatabaseSync(database, { timeout: BUSY_MS, enableDoubleQuotedStringLiterals: true });
  try {
    open.prepare('VACUUM INTO ?').run(file);
  } finally {
    open.close();
  }
}

const BUSY_MS = 30_000;
