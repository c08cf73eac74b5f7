import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mayBeFair } from '../../src/embedded/fair-queues.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-fair-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each<[string, string[], boolean]>([
  ['without tables', [], true],
  ['without waiting work', ['CREATE TABLE tasks (id)', 'CREATE TABLE task_queues_v2 (id)'], true],
  ['with waiting work', ['CREATE TABLE tasks (id)', 'CREATE TABLE task_queues_v2 (id)', 'INSERT INTO tasks VALUES (3)'], false],
  [
    'with waiting work of fair queues',
    [
      'CREATE TABLE tasks (id)',
      'CREATE TABLE task_queues_v2 (id)',
      'INSERT INTO tasks VALUES (3)',
      'INSERT INTO task_queues_v2 VALUES (5)',
    ],
    true,
  ],
])('the queues of a database %s may be fair: %s', async (name, statements, fair) => {
  const file = join(folder, name);
  const database = new DatabaseSync(file);
  for (const statement of statements) database.exec(statement);
  database.close();
  expect(await mayBeFair(file)).toBe(fair);
});

it('the queues of a new database may be fair, and what is no database is not taken for one', async () => {
  expect(await mayBeFair(join(folder, 'none'))).toBe(true);
  await writeFile(join(folder, 'damaged'), 'x'.repeat(8_192));
  await expect(mayBeFair(join(folder, 'damaged'))).rejects.toThrow('not a database');
});
