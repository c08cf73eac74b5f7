import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { testDatabase } from '../support/database/database.ts';

const ROOT = resolve(import.meta.dirname, '../..');

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
      /knowledge_chunks|search|words|"final_(?:cost|tokens|seconds)"|"tasks_filtered"|^DROP TABLE "events_|"events_pkey"|"events_task_id_seq_idx"/;
    expect(statements.filter((line) => !unknown.test(line))).toEqual([]);
  } finally {
    await drop();
  }
}, 60_000);

it('applies migrations once, and refuses one that was edited afterwards', async () => {
  const { url, drop } = await testDatabase();
  try {
    expect(await applyMigrations(url, MIGRATIONS)).toEqual([]);
    const client = new pg.Client(url);
    await client.connect();
    await client.query("UPDATE _prisma_migrations SET checksum = 'other'");
    await client.end();
    await expect(applyMigrations(url, MIGRATIONS)).rejects.toThrow(/edited/);
  } finally {
    await drop();
  }
});
