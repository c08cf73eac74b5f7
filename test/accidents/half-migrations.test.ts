import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { testDatabase, unmigratedDatabase } from '../support/database/database.ts';
import { perdura } from '../support/machine/processes.ts';
import { until } from '../support/until.ts';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function opened(made: Promise<{ url: string; drop(): Promise<void> }>) {
  const { url, drop } = await made;
  const client = new pg.Client(url);
  await client.connect();
  endings.push(drop, () => client.end());
  return { url, client };
}

const SCHEMA = `SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable AS part FROM information_schema.columns
    WHERE table_schema = 'public'
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT proname || ' ' || prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT migration_name || ' ' || checksum || ' ' || (finished_at IS NOT NULL) FROM _prisma_migrations ORDER BY 1`;
const schemaOf = async (client: pg.Client) => (await client.query<{ part: string }>(SCHEMA)).rows.map(({ part }) => part);

const names = (await readdir(MIGRATIONS, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name);

it('the newest migration is applied to the state before it', async () => {
  const { url, client } = await opened(unmigratedDatabase());
  const folder = await mkdtemp(join(tmpdir(), 'perdura-migrations-'));
  endings.push(() => rm(folder, { recursive: true, force: true }));
  const [newest, ...before] = names.sort().reverse();
  for (const name of before) await cp(join(MIGRATIONS, name), join(folder, name), { recursive: true });
  await applyMigrations(url, folder);
  expect(await applyMigrations(url, MIGRATIONS)).toEqual([newest]);
  const whole = await opened(testDatabase());
  expect(await schemaOf(client)).toEqual(await schemaOf(whole.client));
});

const HOLD = `CREATE SEQUENCE held.statements;
  CREATE FUNCTION held.hold() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('held.statements') >= %AT% THEN PERFORM pg_advisory_xact_lock(4242); END IF; END $$;
  CREATE EVENT TRIGGER hold ON ddl_command_start EXECUTE FUNCTION held.hold()`;
const WAITING = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 4242 AND NOT granted";
const TERMINATE = `SELECT pg_terminate_backend(pid, 10000) FROM (${WAITING}) AS held`;

/** Kills `perdura migrate` with kill -9 when it is at its statement number `at`. False when it has fewer. */
async function killedAt(at: number): Promise<boolean> {
  const { url, client } = await opened(unmigratedDatabase());
  await client.query('CREATE SCHEMA held');
  await client.query('SELECT pg_advisory_lock(4242)');
  await client.query(HOLD.replace('%AT%', String(at)));
  const migrating = perdura('migrate', { DATABASE_URL: url });
  let over = false;
  void migrating.ended.then(() => {
    over = true;
  });
  await until('the migration being held', async () => over || (await client.query(WAITING)).rows.length > 0);
  const held = !over;
  await migrating.end('SIGKILL');
  // Its server process would carry out the statement that it is at.
  await client.query(TERMINATE);
  await client.query('SELECT pg_advisory_unlock(4242)');
  await client.query('DROP EVENT TRIGGER hold');
  await client.query('DROP SCHEMA held CASCADE');
  await applyMigrations(url, MIGRATIONS);
  const whole = await opened(testDatabase());
  expect(await schemaOf(client)).toEqual(await schemaOf(whole.client));
  return held;
}

it('a migration killed at any statement is carried out by the next start', { timeout: 300_000 }, async () => {
  let at = 1;
  while (await killedAt(at)) at += 40;
  expect(at).toBeGreaterThan(100);
});
