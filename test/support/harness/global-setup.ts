import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { type Postgres, startPostgres } from '../../../src/embedded/postgres.ts';
import { startTemporal } from '../../../src/embedded/temporal.ts';
import { MIGRATIONS } from '../../../src/main/places.ts';
import { applyMigrations } from '../../../src/store/database/migrations.ts';
import type { ChangedStatement } from '../database/database.ts';
import { asOperator } from '../database/operator.ts';
import { startOtherPostgres } from '../database/other-postgres.ts';
import { findChromium, HOW_TO_GET_CHROMIUM } from './chromium.ts';
import { refuseDeadlocks } from './deadlocks.ts';
import { temporalForTests } from './embedded-temporal.ts';
import { folderOfRun } from './run-mark.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server with the migrated, empty database `template_perdura`. */
    postgres_url: string;
    temporal_address: string;
    temporal_ui_url: string;
    cache_dir: string;
    /** The path of the browser; '' if there is none. */
    chromium: string;
    /** The database functions whose files have changed since the template was migrated. */
    changed_functions?: string[];
    /** A prepared statement whose text a mutation has changed. */
    changed_statement?: ChangedStatement | null;
  }
}

const FUNCTIONS = join(import.meta.dirname, '../../../prisma/functions');

export const TEMPLATE = 'template_perdura';

const log = () => {};

/**
 * The engine's memory. It counts for each task queue, and each test installation has its own queues: several hundred MiB by the
 * end.
 */
const ENGINE_MIB = 2_048;

/** Starts one real Postgres and one real Temporal for all test files. Each file has its own database and task queue. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const browser = findChromium();
  if (!browser) console.log(`Tests in a browser are left out: ${HOW_TO_GET_CHROMIUM}`);
  project.provide('chromium', browser);
  const home = await folderOfRun('perdura-tests-');
  const [postgres, temporal] = await Promise.all([
    postgresForTests(home, 25_432),
    temporalForTests().then((executable) =>
      startTemporal({ executable, home, log, port: 27_233, ui_port: 28_233, memory_mib: ENGINE_MIB }),
    ),
  ]);
  await makeTemplate(postgres.url);
  project.provide('postgres_url', postgres.url);
  project.provide('temporal_address', temporal.address);
  project.provide('temporal_ui_url', temporal.ui_url);
  project.provide('cache_dir', join(home, 'cache'));
  return async () => {
    await Promise.all([postgres.stop(), temporal.stop()]);
    await refuseDeadlocks(postgres.log_file);
    await rm(home, { recursive: true, force: true });
  };
}

const postgresForTests = (home: string, port: number): Promise<Pick<Postgres, 'url' | 'log_file' | 'stop'>> =>
  process.env.TEST_POSTGRES ? startOtherPostgres(process.env.TEST_POSTGRES, { home, port }) : startPostgres({ home, log, port });

/**
 * The settings of the tests' own server, none of whose data must survive a crash of the machine. Tests that end their server
 * start their own.
 */
const UNSYNCED = ['fsync = off', 'full_page_writes = off', 'synchronous_commit = off'];

async function makeTemplate(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  for (const setting of UNSYNCED) await client.query(`ALTER SYSTEM SET ${setting}`);
  await client.query('SELECT pg_reload_conf()');
  await client.query(`CREATE DATABASE ${TEMPLATE}`);
  await client.end();
  const target = new URL(url);
  target.pathname = TEMPLATE;
  await applyMigrations(target.href, MIGRATIONS);
  // An edited function is tested before a migration has its text.
  for (const file of await readdir(FUNCTIONS))
    await asOperator(target.href, async (operator) => void (await operator.query(await readFile(join(FUNCTIONS, file), 'utf8'))));
}
