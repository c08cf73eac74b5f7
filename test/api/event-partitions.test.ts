import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { v4 } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { eventStore } from '../../src/store/runs/events.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { agedRecords, daysAgo } from '../support/database/aged.ts';
import { openTestDatabase } from '../support/database/database.ts';
import { limitedRole } from '../support/database/limited-role.ts';
import { until } from '../support/until.ts';

const DAY_MS = 24 * 3_600_000;
const WITHIN_MS = 30_000;

let database: Database;
let store: Store;
let aged: ReturnType<typeof agedRecords>;
beforeEach(async () => {
  database = await openTestDatabase();
  store = createStore({ database, keys: keyRing(`k:${randomBytes(32).toString('base64')}`) });
  aged = agedRecords(database);
});
afterEach(() => database.close());

const found = async (text: string, ...values: unknown[]) => (await database.pool.query(text, values)).rows;
const removeEnded = async (days = 30) => (await sweep(store.retention.ended(daysAgo(days)), WITHIN_MS)).removed;
const removeTransient = async () => (await sweep(store.retention.transient(new Date()), WITHIN_MS)).removed;

/** As workers would have made them all the time. */
const makeSince = (days: number) => aged.sql('SELECT make_event_partitions($1, now())', daysAgo(days));
const partitionsOf = async (branch: string): Promise<string[]> =>
  (await found(`SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1`, branch)).map(
    ({ name }) => name,
  );

/** Dropping gives up when a table is in use, also by Postgres itself. */
const untilDropped = (branch: string, name: string, remove: () => Promise<unknown>) =>
  until(`${name} is dropped`, async () => {
    await remove();
    return !(await partitionsOf(branch)).includes(name);
  });

const stamp = (at: Date) => at.toISOString().slice(0, 10).replaceAll('-', '');
const dayOf = (at: Date) => `events_deltas_${stamp(at)}`;
/** Weeks begin on Monday. */
const weekOf = (at: Date) => `events_lasting_${stamp(new Date(at.getTime() - ((at.getUTCDay() + 6) % 7) * DAY_MS))}`;
/** Where the events of a task are, by type. */
const tablesWith = async (task_id: string): Promise<Record<string, string>> => {
  const rows = await found('SELECT DISTINCT type, tableoid::regclass::text AS name FROM events WHERE task_id = $1', task_id);
  return Object.fromEntries(rows.map(({ type, name }) => [type, name]));
};

/** An old task with three logs and two deltas. */
async function spoken(at: Date, given: Parameters<typeof aged.task>[1] = {}): Promise<string> {
  const task_id = await aged.task(at, given);
  await aged.events(at, task_id, 3, 'log');
  await aged.events(at, task_id, 2, 'message_delta');
  return task_id;
}

const workflowOf = async (task_id: string): Promise<string> =>
  (await found('SELECT workflow_id FROM tasks WHERE id = $1', task_id))[0].workflow_id;
const read = async (workflow_id: string, task_id?: string) => {
  const { events } = await eventStore(database.pool).read(workflow_id, { after: 0, task_id, bytes: 1_000_000 });
  return events.map(({ seq }) => seq);
};

describe('the events of a task', () => {
  it('are in the partitions of the time of its creation, deltas apart, and read as one sequence', async () => {
    const at = daysAgo(3);
    await makeSince(5);
    const task_id = await spoken(at);
    await aged.events(new Date(), task_id, 1, 'status');
    expect(await tablesWith(task_id)).toEqual({ log: weekOf(at), status: weekOf(at), message_delta: dayOf(at) });
    expect(await read(await workflowOf(task_id), task_id)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await read(await workflowOf(task_id))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('are accepted without a partition, and move to theirs once it is made', async () => {
    const at = daysAgo(1);
    const [task_id, foreign] = [await spoken(at), await spoken(at, { task_id: v4() })];
    const rest = { log: 'events_lasting_rest', message_delta: 'events_deltas_rest' };
    expect(await tablesWith(task_id)).toEqual(rest);
    await makeSince(1);
    await makeSince(1);
    expect(await tablesWith(task_id)).toEqual({ log: weekOf(at), message_delta: dayOf(at) });
    expect(await tablesWith(foreign)).toEqual(rest);
    expect(await read(await workflowOf(task_id))).toEqual([1, 2, 3, 4, 5]);
    expect(await read(await workflowOf(foreign))).toEqual([1, 2, 3, 4, 5]);
  });

  it('are accepted while their partition is made', async () => {
    const task_id = await aged.task(new Date());
    const maker = await database.pool.connect();
    try {
      await maker.query('BEGIN');
      await maker.query('SELECT make_event_partitions(now(), now())');
      const written = Promise.all((['log', 'message_delta'] as const).map((type) => aged.events(new Date(), task_id, 1, type)));
      await until(
        'a writer waits',
        async () =>
          (await found(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).length >
          0,
      );
      await maker.query('COMMIT');
      await written;
    } finally {
      maker.release();
    }
    expect(await tablesWith(task_id)).toEqual({ log: weekOf(new Date()), message_delta: dayOf(new Date()) });
  });

  it('have partitions for a week ahead as soon as a worker runs', async () => {
    await store.retention.makePartitions();
    const names = [...(await partitionsOf('events_deltas')), ...(await partitionsOf('events_lasting'))];
    for (let ahead = 0; ahead <= 7; ahead += 1) {
      expect(names).toContain(dayOf(daysAgo(-ahead)));
      expect(names).toContain(weekOf(daysAgo(-ahead)));
    }
  });

  it('have partitions also if the tables belong to another role', async () => {
    const role = await limitedRole(database.pool.options.connectionString as string);
    const limited = openDatabase({ url: role.url });
    try {
      await createStore({
        database: limited,
        keys: keyRing(`k:${randomBytes(32).toString('base64')}`),
      }).retention.makePartitions();
      expect(await partitionsOf('events_deltas')).toContain(dayOf(new Date()));
      const task_id = await aged.task(new Date(), { status: 'running' });
      const event = { type: 'log', data: {}, timestamp: new Date().toISOString() };
      const given = [await workflowOf(task_id), task_id, JSON.stringify([event])];
      await limited.pool.query('SELECT append_events($1, $2, $3)', given);
      expect(await tablesWith(task_id)).toEqual({ log: weekOf(new Date()) });
    } finally {
      await limited.close();
      await role.drop();
    }
  });

  it('go with a workflow that its owner deletes', async () => {
    await makeSince(40);
    const [gone, kept] = [await spoken(daysAgo(40)), await spoken(daysAgo(2))];
    await store.workflows.remove(await workflowOf(gone));
    expect([await tablesWith(gone), Object.keys(await tablesWith(kept))]).toEqual([{}, ['log', 'message_delta']]);
  });

  it('are refused if their workflow was deleted', async () => {
    const task_id = await aged.task(daysAgo(1));
    const workflow_id = await workflowOf(task_id);
    await store.workflows.remove(workflow_id);
    const event = { type: 'log', data: {}, timestamp: new Date().toISOString() };
    const late = database.pool.query('SELECT append_events($1, $2, $3)', [workflow_id, task_id, JSON.stringify([event])]);
    await expect(late).rejects.toThrow(/event_sequences_workflow_id_fkey/);
  });
});

describe('a week whose tasks were removed', () => {
  it('is dropped as a whole, while other tasks write and read', async () => {
    await makeSince(60);
    const old = [await spoken(daysAgo(50)), await spoken(daysAgo(50))];
    const young = await aged.task(daysAgo(0.1), { status: 'running' });
    const workflow_id = await workflowOf(young);
    let over = false;
    const writing = (async () => {
      let written = 0;
      const event = JSON.stringify([{ type: 'log', data: {}, timestamp: new Date().toISOString() }]);
      for (; !over; written += 1) {
        await database.pool.query('SELECT append_events($1, $2, $3)', [workflow_id, young, event]);
        expect((await eventStore(database.pool).extent(workflow_id, { task_id: young, after: 0, epoch: 0 })).last).toBe(
          written + 1,
        );
      }
      return written;
    })();
    expect((await removeEnded()).tasks).toBe(2);
    await untilDropped('events_lasting', weekOf(daysAgo(50)), removeEnded);
    over = true;
    const written = await writing;
    expect(await Promise.all(old.map(tablesWith))).toEqual(old.map(() => ({ message_delta: dayOf(daysAgo(50)) })));
    expect(await read(workflow_id)).toEqual(Array.from({ length: Math.min(written, 500) }, (_, index) => index + 1));
    await untilDropped('events_deltas', dayOf(daysAgo(50)), removeTransient);
    expect(await Promise.all(old.map(tablesWith))).toEqual([{}, {}]);
  });

  it('keeps the events of tasks that stay, and takes late ones', async () => {
    await makeSince(60);
    const gone = await spoken(daysAgo(50));
    const source = await spoken(daysAgo(50));
    const waiting = await spoken(daysAgo(50), { status: 'waiting' });
    await aged.task(daysAgo(1), { forked_from: source });
    await untilDropped('events_lasting', weekOf(daysAgo(50)), removeEnded);
    await untilDropped('events_deltas', dayOf(daysAgo(50)), removeTransient);
    expect(await tablesWith(gone)).toEqual({});
    expect(await tablesWith(source)).toEqual({ log: 'events_lasting_rest' });
    expect(await tablesWith(waiting)).toEqual({ log: 'events_lasting_rest', message_delta: 'events_deltas_rest' });
    await aged.events(new Date(), waiting, 1, 'status');
    expect(await read(await workflowOf(waiting))).toEqual([1, 2, 3, 4, 5, 6]);
    await aged.sql(`UPDATE tasks SET status = 'completed', completed_at = $2 WHERE id = $1`, waiting, daysAgo(40));
    await removeEnded();
    expect(await tablesWith(waiting)).toEqual({});
  });

  it('stays as a whole while tasks with more than twenty thousand events stay', async () => {
    await makeSince(60);
    const [gone, waiting] = [await spoken(daysAgo(50)), await spoken(daysAgo(50), { status: 'waiting' })];
    await aged.events(daysAgo(50), waiting, 20_000);
    await removeEnded();
    expect(await tablesWith(waiting)).toMatchObject({ log: weekOf(daysAgo(50)) });
    expect(await tablesWith(gone)).toMatchObject({ log: weekOf(daysAgo(50)) });
    await aged.sql(`UPDATE tasks SET status = 'completed', completed_at = $2 WHERE id = $1`, waiting, daysAgo(40));
    await untilDropped('events_lasting', weekOf(daysAgo(50)), removeEnded);
  });

  it('shows its events to nobody, although a part of the week is younger', async () => {
    // The last partition ends tomorrow at the earliest, so it is not out of age.
    await store.retention.makePartitions();
    const home = await aged.workflow(daysAgo(1));
    const [first, gone, last] = [await spoken(new Date(), home), await spoken(new Date(), home), await spoken(new Date(), home)];
    await aged.sql('UPDATE tasks SET completed_at = $2 WHERE id = $1', gone, daysAgo(40));
    expect(await read(home.workflow_id)).toHaveLength(15);
    await removeEnded();
    expect(Object.keys(await tablesWith(gone)).sort()).toEqual(['log', 'message_delta']);
    const events = eventStore(database.pool);
    const kept = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15];
    expect(await read(home.workflow_id)).toEqual(kept);
    const each = await Promise.all(Array.from({ length: 16 }, (_, seq) => events.one(home.workflow_id, seq)));
    expect(each.flatMap((event) => (event ? [event.seq] : []))).toEqual(kept);
    await aged.sql('UPDATE workflows SET last_task_id = $2 WHERE id = $1', home.workflow_id, gone);
    expect(await events.beforeLastRun(home.workflow_id)).toBe(15);
    await aged.sql('UPDATE workflows SET last_task_id = $2 WHERE id = $1', home.workflow_id, last);
    expect(await events.beforeLastRun(home.workflow_id)).toBe(10);
    expect((await store.workflows.lastRun(first)).logs).toHaveLength(3);
    expect((await store.workflows.lastRun(gone)).logs).toEqual([]);
  });

  it('stays while someone uses the table, and holds nobody up', async () => {
    await makeSince(60);
    const old = await spoken(daysAgo(50));
    const holder = new pg.Client(database.pool.options as pg.ClientConfig);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT count(*) FROM events');
    expect((await removeEnded()).event_partitions).toBeUndefined();
    const young = await aged.task(new Date(), { status: 'running' });
    await aged.events(new Date(), young);
    await holder.query('ROLLBACK');
    await holder.end();
    expect(Object.keys(await tablesWith(old))).toContain('log');
    await untilDropped('events_lasting', weekOf(daysAgo(50)), removeEnded);
    expect(await tablesWith(old)).toEqual({ message_delta: dayOf(daysAgo(50)) });
    expect(Object.keys(await tablesWith(young))).toEqual(['log']);
  });
});

describe('the deltas of a day', () => {
  it('are dropped when its tasks have ended a day ago, except those of other tasks', async () => {
    await makeSince(9);
    const at = daysAgo(5);
    const [ended, open, late] = [await spoken(at), await spoken(at, { status: 'running' }), await spoken(at)];
    const young = await spoken(daysAgo(1), { status: 'running' });
    await aged.sql('UPDATE tasks SET completed_at = now() WHERE id = $1', late);
    await untilDropped('events_deltas', dayOf(at), removeTransient);
    expect(await tablesWith(ended)).toEqual({ log: weekOf(at) });
    for (const task_id of [open, late])
      expect(await tablesWith(task_id)).toEqual({ log: weekOf(at), message_delta: 'events_deltas_rest' });
    expect(await tablesWith(young)).toMatchObject({ message_delta: dayOf(daysAgo(1)) });
    expect(await read(await workflowOf(open))).toEqual([1, 2, 3, 4, 5]);
    await aged.sql('UPDATE tasks SET completed_at = $2 WHERE id = $1', late, daysAgo(1.1));
    expect((await removeTransient()).deltas).toBe(2);
    expect(await tablesWith(late)).toEqual({ log: weekOf(at) });
  });
});

it('the largest tables are listed with their indexes, the events with all their partitions, and nothing of other schemas', async () => {
  await makeSince(3);
  await aged.events(daysAgo(1), await aged.task(daysAgo(1)));
  await database.pool.query('CREATE SCHEMA other; CREATE TABLE other.large AS SELECT n FROM generate_series(1, 100000) AS n');
  const tables = await found(`SELECT pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)::float8 AS bytes,
      tablename IN (SELECT relid::text FROM pg_partition_tree('events')) AS is_of_events, tablename::text AS name
    FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename::text COLLATE "default"`);
  const events = tables.filter(({ is_of_events, name }) => is_of_events && name !== 'events');
  expect(events.filter(({ bytes }) => bytes > 0).length).toBeGreaterThan(2);
  const expected = tables
    .filter(({ is_of_events, name }) => !is_of_events || name === 'events')
    .map(({ name, bytes }) => ({ name, bytes: name === 'events' ? events.reduce((sum, part) => sum + part.bytes, 0) : bytes }))
    .toSorted((a, b) => b.bytes - a.bytes);
  expect(new Set(expected.map(({ bytes }) => bytes)).size, 'some have the same size').toBeLessThan(expected.length);
  expect(await store.sizes.largestTables(1_000)).toEqual(expected);
  expect(await store.sizes.largestTables(3)).toEqual(expected.slice(0, 3));
});
