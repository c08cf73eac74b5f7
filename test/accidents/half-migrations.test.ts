import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations, requireOwnSchema } from '../../src/store/database/migrations.ts';
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

describe('a schema that is not of this version', () => {
  it('is refused when it is newer', async () => {
    const { url, client } = await opened(testDatabase());
    await client.query(
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'y', '20990101000000_later', now())",
    );
    const sentence = /newer than this version of Perdura.*20990101000000_later/;
    await expect(requireOwnSchema(client as never, MIGRATIONS)).rejects.toThrow(sentence);
    await expect(applyMigrations(url, MIGRATIONS)).rejects.toThrow(sentence);
  });

  it('is accepted if the newer migration says that it serves this version, and refused if it begins later', async () => {
    const { url, client } = await opened(testDatabase());
    const later = (serves_from: string) =>
      client.query(
        `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, logs) VALUES ('x', 'y', '20990101000000_later', now(), $1)
         ON CONFLICT (id) DO UPDATE SET logs = EXCLUDED.logs`,
        [serves_from],
      );
    await later(names.sort().at(-1) as string);
    expect(await requireOwnSchema(client as never, MIGRATIONS)).toBe(names.length);
    expect(await applyMigrations(url, MIGRATIONS)).toEqual([]);
    await later('20980101000000_between');
    await expect(requireOwnSchema(client as never, MIGRATIONS)).rejects.toThrow(/20990101000000_later/);
  });

  it('notes from which version on a migration serves', async () => {
    const { url, client } = await opened(testDatabase());
    const folder = await mkdtemp(join(tmpdir(), 'perdura-migrations-'));
    endings.push(() => rm(folder, { recursive: true, force: true }));
    await cp(MIGRATIONS, folder, { recursive: true });
    const [migration_name, serves_from] = ['20990101000000_later', names.sort().at(-1)];
    await mkdir(join(folder, migration_name));
    await writeFile(join(folder, migration_name, 'migration.sql'), `-- Serves versions from: ${serves_from}\nSELECT 1;\n`);
    expect(await applyMigrations(url, folder)).toEqual([migration_name]);
    const { rows } = await client.query('SELECT migration_name, logs FROM _prisma_migrations WHERE logs IS NOT NULL');
    expect(rows).toEqual([{ migration_name, logs: serves_from }]);
  });

  it('is refused with the way out when it was never released', async () => {
    const { url, client } = await opened(unmigratedDatabase());
    await applyMigrations(url, await mkdtemp(join(tmpdir(), 'perdura-migrations-')));
    await client.query(
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'y', '20261121000000_init', now())",
    );
    const sentence = /before 0\.1\.0.*perdura export --output installation\.json.*perdura import installation\.json/;
    await expect(requireOwnSchema(client as never, MIGRATIONS)).rejects.toThrow(sentence);
    await expect(applyMigrations(url, MIGRATIONS)).rejects.toThrow(sentence);
  });

  it('is refused when it is older, or not there at all', async () => {
    const { client } = await opened(unmigratedDatabase());
    await expect(requireOwnSchema(client as never, MIGRATIONS)).rejects.toThrow(/older than this version.*Run perdura migrate/);
    const other = await opened(testDatabase());
    await other.client.query('DELETE FROM _prisma_migrations WHERE migration_name = $1', [names.sort().at(-1)]);
    await expect(requireOwnSchema(other.client as never, MIGRATIONS)).rejects.toThrow(
      `1 migrations are missing, the last is ${names.at(-1)}`,
    );
  });
});
