import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EventBus, MISSED, type Notice } from '../../src/events/bus.ts';
import { postgresBus } from '../../src/events/postgres-bus.ts';
import type { NewEvent, StoredEvent } from '../../src/events/task-events.ts';
import { buildClientConfig } from '../../src/store/database/database.ts';
import { connectionOutage } from '../../src/store/database/database-outages.ts';
import { appendText } from '../../src/store/runs/deltas.sql.ts';
import { eventStore } from '../../src/store/runs/events.ts';
import { createTextWriter } from '../../src/store/runs/grouped-texts.ts';
import { type OpenRun, runStore } from '../../src/store/runs/runs.ts';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { until } from '../support/until.ts';

const AGENT = '0197a0c4-0000-7000-8000-000000000002';
let place: TestDatabase;
let pool: pg.Pool;
/** How many statements wrote texts of a group, and how many texts each got. */
let batches: number[] = [];
/** How many texts were written alone, outside a batch. */
let singles = 0;

beforeAll(async () => {
  place = await testDatabase();
  pool = new pg.Pool({ connectionString: place.url });
  // A connection may still be closing when its database is dropped.
  pool.on('connect', (client) => client.on('error', () => {}));
  pool.on('error', () => {});
  await pool.query(`INSERT INTO agents (id, name, created_by) VALUES ($1, 'a', 'local:alice')`, [AGENT]);
  await pool.query(`INSERT INTO definitions (hash, body) VALUES ('h', '{}')`);
});
afterAll(async () => {
  await pool.end();
  await place.drop();
});
beforeEach(() => {
  batches = [];
  singles = 0;
});

const counted = {
  query(statement: pg.QueryConfig) {
    if (statement.name === 'append_text') singles += 1;
    if (statement.name === 'append_texts') batches.push(JSON.parse(statement.values?.[0]).length);
    return pool.query(statement);
  },
};

/** A run in its first step, whose first attempt has begun. */
async function running(workflow_id: string = randomUUID()): Promise<OpenRun> {
  const task_id = randomUUID();
  await pool.query(
    `INSERT INTO workflows (id, agent_id, owner, owner_login, status) VALUES ($1, $2, 'local:alice', 'alice', 'running') ON CONFLICT DO NOTHING`,
    [workflow_id, AGENT],
  );
  await pool.query(
    `INSERT INTO tasks (id, workflow_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, status)
     VALUES ($1, $2, 'local:alice', 'alice', 'p', 'h', $3, 'a', 'running')`,
    [task_id, workflow_id, AGENT],
  );
  await pool.query('INSERT INTO task_steps (task_id, step, attempts) VALUES ($1, 1, 1)', [task_id]);
  return { task_id, workflow_id, attempts: 0 } as OpenRun;
}

const textOf = (delta: string, after = 0) => ({
  step: 1,
  after,
  event: { type: 'message_delta' as const, data: { delta }, timestamp: new Date().toISOString() },
});
const written = async ({ workflow_id }: OpenRun) =>
  (await eventStore(pool).read(workflow_id, { after: 0, bytes: 1_000_000 })).events as StoredEvent[];
/** Sends a text in the statement for those that a batch leaves out. */
const alone = async ({ task_id, workflow_id }: OpenRun, { event, ...place }: ReturnType<typeof textOf>) => {
  const values = { ...place, task_id, workflow_id, attempt: 1, event: JSON.stringify(event) };
  return (await pool.query(appendText(values))).rows[0]?.last as number | null;
};
const waitingForLocks = async () =>
  Number(
    (await pool.query(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`))
      .rows[0].count,
  );
const getDelta = (event: NewEvent | undefined) => (event?.type === 'message_delta' ? event.data.delta : undefined);
const said = (events: StoredEvent[]) => events.map(getDelta);
const numbers = (events: StoredEvent[]) => events.map(({ seq }) => seq);

it('writes the texts of many runs in few statements, each run’s in order and without a gap', async () => {
  const { publishText } = runStore(counted);
  const runs = await Promise.all(Array.from({ length: 40 }, () => running()));
  const words = Array.from({ length: 25 }, (_, at) => `word ${at}`);
  await Promise.all(
    runs.map(async (run) => {
      for (const [at, word] of words.entries()) expect(await publishText(run, textOf(word, at))).toBe(at + 1);
    }),
  );
  for (const run of runs) {
    const events = await written(run);
    expect(said(events)).toEqual(words);
    expect(numbers(events)).toEqual(words.map((_, at) => at + 1));
  }
  expect(batches.reduce((sum, size) => sum + size, 0)).toBe(1_000);
  expect(batches.length).toBeLessThan(200);
});

describe('a text that is sent again, because nobody knows whether it was written', () => {
  it('is written once, and has the number of its first sending', async () => {
    const { publishText } = runStore(counted);
    const run = await running();
    expect(await publishText(run, textOf('a'))).toBe(1);
    expect(await publishText(run, textOf('b', 1))).toBe(2);
    expect(await publishText(run, textOf('b', 1))).toBe(2);
    expect(await publishText(run, textOf('c', 2))).toBe(3);
    expect(said(await written(run))).toEqual(['a', 'b', 'c']);
  });

  it('is written once although other events of the workflow come between', async () => {
    const { publishText, publishDeltas } = runStore(counted);
    const run = await running();
    const other = await running(run.workflow_id);
    expect(await publishDeltas(other, { step: 1, events: [textOf('of another task').event] })).toBe(1);
    expect(await publishText(run, textOf('a'))).toBe(2);
    expect(await publishDeltas(other, { step: 1, events: [textOf('of another task').event] })).toBe(3);
    expect(await publishText(run, textOf('a'))).toBe(2);
    expect(said((await written(run)).filter(({ task_id }) => task_id === run.task_id))).toEqual(['a']);
  });

  it('is written once if the first sending arrives while the second is being written', async () => {
    const run = await running();
    expect(await runStore(pool).publishText(run, textOf('a'))).toBe(1);
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM event_sequences WHERE workflow_id = $1 FOR NO KEY UPDATE', [run.workflow_id]);
    const again = () => runStore(pool).publishText(run, textOf('b', 1));
    const numbers = Promise.all([again(), again(), alone(run, textOf('b', 1)), alone(run, textOf('b', 1))]);
    await until('all wait', async () => (await waitingForLocks()) === 4);
    await other.query('COMMIT');
    other.release();
    expect(await numbers).toEqual([2, 2, 2, 2]);
    expect(said(await written(run))).toEqual(['a', 'b']);
  });
});

it('gives two tasks of one workflow separate numbers', async () => {
  const { publishText } = runStore(counted);
  const first = await running();
  const second = await running(first.workflow_id);
  await Promise.all([publishText(first, textOf('a')), publishText(second, textOf('b'))]);
  const events = await written(first);
  expect(batches).toEqual([2]);
  expect(numbers(events)).toEqual([1, 2]);
  expect(events.map(({ task_id, data }) => [task_id, 'delta' in data && data.delta])).toEqual([
    [first.task_id, 'a'],
    [second.task_id, 'b'],
  ]);
});

it('refuses in a batch what it refuses alone: an attempt that has a successor, a recorded step, an ended task', async () => {
  const published: [string, number][] = [];
  const { publishText } = runStore(counted, (_, task_id, { last }) => published.push([task_id, last]));
  const [stale, recorded, ended, mine] = (await Promise.all(Array.from({ length: 4 }, () => running()))) as OpenRun[];
  await pool.query('UPDATE task_steps SET attempts = 2 WHERE task_id = $1', [stale!.task_id]);
  await pool.query('UPDATE task_steps SET ended_at = now() WHERE task_id = $1', [recorded!.task_id]);
  await pool.query(`UPDATE tasks SET status = 'halted', completed_at = now() WHERE id = $1`, [ended!.task_id]);
  const all = [stale!, recorded!, ended!, mine!];
  expect(await Promise.all(all.map((run) => publishText(run, textOf('late'))))).toEqual([null, null, null, 1]);
  expect(batches).toEqual([4]);
  expect((await Promise.all(all.map(written))).map((events) => events.length)).toEqual([0, 0, 0, 1]);
  expect(published).toEqual([[mine!.task_id, 1]]);
});

it('lets no locked task hold up the others; its own text waits', async () => {
  const { publishText } = runStore(counted);
  const [locked, free] = (await Promise.all([running(), running()])) as [OpenRun, OpenRun];
  const other = await pool.connect();
  await other.query('BEGIN');
  await other.query('SELECT 1 FROM tasks WHERE id = $1 FOR NO KEY UPDATE', [locked.task_id]);
  const waits = publishText(locked, textOf('waits'));
  expect(await publishText(free, textOf('goes'))).toBe(1);
  expect(await publishText(free, textOf('continues', 1))).toBe(2);
  expect(await written(locked)).toEqual([]);
  await other.query('COMMIT');
  other.release();
  expect(await waits).toBe(1);
  expect(said(await written(locked))).toEqual(['waits']);
});

it('an outage fails every text of the batch; another error only the text that causes it', async () => {
  const run = { task_id: 't', workflow_id: 'w', step: 1, attempt: 1, after: 0 };
  const alone = async ({ task_id }: { task_id: string }) => (task_id === 'good' ? 1 : null);
  const failing = (error: Error) =>
    createTextWriter({ query: () => Promise.reject(error) }, { writeSeparately: alone, onWritten: () => {} });
  const texts = ['good', 'bad'].map((task_id) => ({ ...run, task_id, event: textOf('x').event }));
  const down = failing(connectionOutage(new Error('connect ECONNREFUSED')));
  const answers = await Promise.allSettled(texts.map(down));
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const malformed = failing(Object.assign(new Error('invalid input syntax'), { code: '22P02' }));
  expect(await Promise.all(texts.map(malformed))).toEqual([1, null]);
});

describe('announced over Postgres', () => {
  const busOf = () => postgresBus({ connection: buildClientConfig(place.url, 'perdura events'), pool, log: () => {} });
  const announcing = (bus: EventBus) =>
    runStore(counted, (workflow_id, task_id, written) => bus.announce(workflow_id, { task_id, ...written }));

  it('reaches watchers of another process; long texts and full notifications included', async () => {
    const [writer, watcher] = [busOf(), busOf()];
    await writer.ping();
    const { publishText, publishDeltas } = announcing(writer);
    const runs = await Promise.all(Array.from({ length: 30 }, () => running()));
    const got = new Map<string, Notice[]>();
    for (const { workflow_id } of runs)
      watcher.subscribe(workflow_id, (notice) => got.set(workflow_id, [...(got.get(workflow_id) ?? []), notice]));
    await until('it listens', async () => runs.every(({ workflow_id }) => got.get(workflow_id)?.includes(MISSED)));
    got.clear();
    const long = 'x'.repeat(9_000);
    const delta = (at: number) => (at === 7 ? long : `${at} ${'y'.repeat(600)}`);
    await Promise.all(runs.map((run, at) => publishText(run, textOf(delta(at)))));
    await until('every watcher was notified', async () => got.size === runs.length);
    for (const [at, { workflow_id, task_id }] of runs.entries()) {
      const [notice] = got.get(workflow_id) as [Notice];
      expect(notice.last).toBe(1);
      if (at === 7) expect(notice.events).toBeUndefined();
      else expect([notice.task_id, getDelta(notice.events?.[0])]).toEqual([task_id, delta(at)]);
    }
    expect(singles).toBe(0);

    got.clear();
    const [first] = runs as [OpenRun];
    expect(await publishDeltas(first, { step: 1, events: [textOf(long).event] })).toBe(2);
    await until('its watcher was notified', async () => got.has(first.workflow_id));
    expect(got.get(first.workflow_id)?.map(({ last, events }) => [last, events])).toEqual([[2, undefined]]);
    await writer.close();
    await watcher.close();
  });

  it('reaches watchers of the same process at once, and once', async () => {
    const bus = busOf();
    await bus.ping();
    const { publishText } = announcing(bus);
    const [run, other] = [await running(), await running()];
    const got: Notice[] = [];
    bus.subscribe(run.workflow_id, (notice) => got.push(notice));
    await until('it listens', async () => got.includes(MISSED));
    got.length = 0;
    await publishText(run, textOf('a'));
    expect(got.map(({ last, events }) => [last, getDelta(events?.[0])])).toEqual([[1, 'a']]);
    // The connection delivers its own notifications before it answers.
    await publishText(other, textOf('b'));
    await bus.ping();
    expect(got.length).toBe(1);
    await bus.close();
  });

  /** Counts the packets that are sent. With the name of the connection of a bus it is another process to them. */
  async function watching(application_name: string) {
    const watcher = new pg.Client({ connectionString: place.url, application_name });
    await watcher.connect();
    let packets = 0;
    let over = false;
    watcher.on('notification', ({ channel }) => {
      if (channel === 'over') over = true;
      else packets += 1;
    });
    await watcher.query('LISTEN "perdura:events"; LISTEN over');
    return {
      async packets() {
        over = false;
        await pool.query(`SELECT pg_notify('over', '')`);
        await until('the end', async () => over);
        return packets;
      },
      close: () => watcher.end(),
    };
  }

  it('takes few notifications', async () => {
    const bus = busOf();
    await bus.ping();
    const { publishText } = announcing(bus);
    const watcher = await watching('perdura events');
    const runs = await Promise.all(Array.from({ length: 40 }, () => running()));
    await Promise.all(runs.map((run) => publishText(run, textOf('a'))));
    await bus.ping();
    const packets = await watcher.packets();
    expect(packets).toBeGreaterThan(0);
    expect(packets).toBeLessThan(10);
    await watcher.close();
    await bus.close();
  });

  it('takes none while there is no other process, and reaches one from its first moment', async () => {
    const bus = busOf();
    await bus.ping();
    bus.onHalt(() => {});
    const { publishText } = announcing(bus);
    const watcher = await watching('somebody');
    const run = await running();
    let last: number | null = 0;
    const sent = async () => {
      last = await publishText(run, textOf('a', last ?? 0));
      await bus.ping();
      return watcher.packets();
    };
    // As long as it has not looked it does not know that it is alone.
    let before = await sent();
    await until('it sends nothing', async () => {
      const [was, now] = [before, await sent()];
      before = now;
      return was === now;
    });
    const other = busOf();
    const got: Notice[] = [];
    other.subscribe(run.workflow_id, (notice) => got.push(notice));
    await until('the other listens', async () => got.includes(MISSED));
    await bus.ping();
    await publishText(run, textOf('b', last));
    await until('the other is notified', async () => got.some(({ events }) => getDelta(events?.[0]) === 'b'));
    await watcher.close();
    await other.close();
    await bus.close();
  });

  it('is not the work of the database, where commits would wait for one another', async () => {
    const { rows } = await pool.query(
      "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosrc ~* 'notify'",
    );
    expect(rows).toEqual([]);
  });
});
