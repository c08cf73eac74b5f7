import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations, requireOwnSchema } from '../../src/store/database/migrations.ts';
import { testDatabase, unmigratedDatabase } from '../support/database/database.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const names = (await readdir(MIGRATIONS, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name);

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

it('describes in the schema what the migrations make', async () => {
  const { url, drop } = await testDatabase();
  try {
    const result = spawnSync(
      process.execPath,
      [
        'node_modules/prisma/build/index.js',
        'migrate',
        'diff',
        '--from-config-datasource',
        '--to-schema',
        'prisma/schema.prisma',
        '--script',
      ],
      { cwd: ROOT, env: { ...process.env, DATABASE_URL: url }, encoding: 'utf8' },
    );
    const statements = result.stdout.split('\n').filter((line) => line.trim() && !line.startsWith('--'));
    // Prisma has no word for a generated column, whose expression it reads as a default, nor for an index that includes further columns,
    // nor for partitions, each of which has the key.
    const unknown =
      /knowledge_chunks|search|tasks_text|"final_(?:cost|tokens|seconds)"|"tasks_filtered"|^DROP TABLE "events_|"events_pkey"|"events_task_id_seq_idx"/;
    expect(statements.filter((line) => !unknown.test(line))).toEqual([]);
  } finally {
    await drop();
  }
}, 60_000);

it('applies migrations once, and refuses one that was edited afterwards', async () => {
  const { url, client } = await opened(testDatabase());
  expect(await applyMigrations(url, MIGRATIONS)).toEqual([]);
  await client.query("UPDATE _prisma_migrations SET checksum = 'other'");
  await expect(applyMigrations(url, MIGRATIONS)).rejects.toThrow(/edited/);
});

it('leaves nothing of a migration that fails, and reports the reason', async () => {
  const { url, client } = await opened(testDatabase());
  const folder = await mkdtemp(join(tmpdir(), 'perdura-migrations-'));
  endings.push(() => rm(folder, { recursive: true, force: true }));
  await cp(MIGRATIONS, folder, { recursive: true });
  const name = '20990101000000_later';
  await mkdir(join(folder, name));
  const failWith = async (statement: string) => {
    await writeFile(join(folder, name, 'migration.sql'), `CREATE TABLE made_by_it (seven int); ${statement}`);
    return applyMigrations(url, folder).then(String, (error: Error) => error.message);
  };
  const sentence = `The migration ${name} failed and left nothing behind: `;
  expect(await failWith('SELECT 1 / 0')).toBe(`${sentence}division by zero`);
  expect(await failWith('SELECT sevn FROM made_by_it; ')).toContain(`${sentence}column "sevn" does not exist. Perhaps you meant`);
  const { rows } = await client.query(
    `SELECT to_regclass('made_by_it') AS made, count(*)::int AS recorded FROM _prisma_migrations WHERE migration_name = $1`,
    [name],
  );
  expect(rows).toEqual([{ made: null, recorded: 0 }]);
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

  it('is completed by a migration that was begun, with a note from which version on it serves', async () => {
    const { url, client } = await opened(testDatabase());
    const folder = await mkdtemp(join(tmpdir(), 'perdura-migrations-'));
    endings.push(() => rm(folder, { recursive: true, force: true }));
    await cp(MIGRATIONS, folder, { recursive: true });
    const [migration_name, serves_from] = ['20990101000000_later', names.sort().at(-1)];
    await mkdir(join(folder, migration_name));
    await writeFile(join(folder, migration_name, 'migration.sql'), `-- Serves versions from: ${serves_from}\nSELECT 1;\n`);
    // As `prisma migrate deploy` leaves it when it is killed.
    await client.query("INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', 'y', $1)", [migration_name]);
    expect(await applyMigrations(url, folder)).toEqual([migration_name]);
    const { rows } = await client.query(
      `SELECT logs, finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE migration_name = $1`,
      [migration_name],
    );
    expect(rows).toEqual([{ logs: serves_from, finished: true }]);
  });

  it('is refused with the way out when it was never released', async () => {
    const { url, client } = await opened(testDatabase());
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
      `1 migration is missing, the last is ${names.at(-1)}`,
    );
  });
});
