import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuid, v4 } from 'uuid';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/main/places.ts';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { applyMigrations } from '../../src/store/database/migrations.ts';
import { eventStore } from '../../src/store/runs/events.ts';
import { retentionStore } from '../../src/store/upkeep/retention.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { agedRecords, daysAgo } from '../support/aged.ts';
import { type TestDatabase, unmigratedDatabase } from '../support/database.ts';

const PARTITIONS = '20261123040300_event_partitions';

let place: TestDatabase;
let database: Database;
let aged: ReturnType<typeof agedRecords>;
beforeEach(async () => {
  place = await unmigratedDatabase();
  database = openDatabase({ url: place.url });
  aged = agedRecords(database);
  const folder = await mkdtemp(join(tmpdir(), 'perdura-migrations-'));
  try {
    for (const name of await readdir(MIGRATIONS))
      if (name < PARTITIONS) await cp(join(MIGRATIONS, name), join(folder, name), { recursive: true });
    await applyMigrations(place.url, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
});
afterEach(async () => {
  await database.close();
  await place.drop();
});

async function spoken(at: Date, given: Parameters<typeof aged.task>[1] = {}): Promise<string> {
  const task_id = await aged.task(at, given);
  await aged.events(at, task_id, 3, 'log');
  await aged.events(at, task_id, 2, 'message_delta');
  return task_id;
}

async function seenOf(task_id: string) {
  const { rows } = await database.pool.query(
    `SELECT e.workflow_id, array_agg(DISTINCT e.tableoid::regclass::text) AS tables FROM events e WHERE task_id = $1 GROUP BY 1`,
    [task_id],
  );
  if (!rows[0]) return null;
  const { events } = await eventStore(database.pool).read(rows[0].workflow_id, { after: 0, task_id, bytes: 100_000 });
  return { seqs: events.map(({ seq }) => seq), tables: rows[0].tables as string[] };
}

it('events from before the partitions stay where they are, and are removed one by one', async () => {
  const old = await spoken(daysAgo(40));
  const running = await spoken(daysAgo(0), { status: 'running' });
  const foreign = await spoken(daysAgo(1), { task_id: v4() });
  await applyMigrations(place.url, MIGRATIONS);
  const former = { seqs: [1, 2, 3, 4, 5], tables: ['events_former'] };
  expect([await seenOf(old), await seenOf(running)]).toEqual([former, former]);
  expect((await seenOf(foreign))?.seqs).toEqual([1, 2, 3, 4, 5]);

  const retention = retentionStore(database);
  await retention.makePartitions();
  await aged.events(new Date(), running, 1);
  expect(await seenOf(running)).toEqual({ seqs: [1, 2, 3, 4, 5, 6], tables: ['events_former'] });
  const later = await spoken(daysAgo(-2), { task_id: uuid({ msecs: daysAgo(-2).getTime() }) });
  expect((await seenOf(later))?.tables.map((name) => name.replace(/\d+/, 'n'))).toEqual(['events_deltas_n', 'events_lasting_n']);

  await sweep(retention.transient(new Date()), 30_000);
  expect((await seenOf(old))?.seqs).toEqual([1, 2, 3]);
  await sweep(retention.ended(daysAgo(30)), 30_000);
  expect(await seenOf(old)).toBeNull();
  expect((await seenOf(running))?.seqs).toEqual([1, 2, 3, 4, 5, 6]);
});
