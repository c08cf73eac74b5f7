import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/store/database/database.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { eventStore } from '../../src/store/runs/events.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';

const WEEKS = 30;
const TASKS = 12_000;
/** Each has ten tasks, of one week. */
const WORKFLOWS = TASKS / 10;
const OWNERS = 40;
const GROWING = ['events', 'tasks', 'workflows', 'task_messages', 'tool_calls'];
/** Of one more owner, in one more workflow. */
const MANY = 20_000;

/** The first one is of the oldest week, the last one of the newest. */
const TIME = (n: string, total: number) =>
  `timestamptz '2026-01-05 00:00Z' + ${n} * interval '168 hours' * ${WEEKS} / ${total + 1}`;
const ID = (n: string, total: number) => `overlay(first_task_id(${TIME(n, total)})::text PLACING '7000-8000' FROM 15)::uuid`;
const FILL = [
  `SELECT make_event_partitions(${TIME('0', TASKS)}, ${TIME(`${TASKS}`, TASKS)})`,
  `INSERT INTO agents (id, name, created_by) VALUES ('00000000-0000-7000-8000-000000000001', 'a', 'o')`,
  `INSERT INTO definitions (hash, body) VALUES ('h', '{}')`,
  `INSERT INTO workflows (id, agent_id, owner, owner_login)
    SELECT ${ID('n', WORKFLOWS)}, (SELECT id FROM agents), 'o' || n % ${OWNERS}, 'o' FROM generate_series(1, ${WORKFLOWS}) n`,
  `INSERT INTO tasks (id, workflow_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, status, created_at, completed_at)
    SELECT ${ID('n', TASKS)}, w.id, w.owner, 'o', 'p', 'h', w.agent_id, 'a', 'completed', ${TIME('n', TASKS)}, ${TIME('n', TASKS)}
    FROM generate_series(1, ${TASKS}) n JOIN (SELECT *, row_number() OVER (ORDER BY id) AS number FROM workflows) w
      ON w.number = (n - 1) / 10 + 1`,
  `UPDATE workflows w SET last_task_id = (SELECT id FROM tasks t WHERE t.workflow_id = w.id ORDER BY id DESC LIMIT 1)`,
  `INSERT INTO task_messages (task_id, step, position, role, kind, content) SELECT id, 1, 0, 'r', 'k', 'c' FROM tasks`,
  `INSERT INTO event_sequences SELECT id, 100 FROM workflows`,
  `INSERT INTO events (workflow_id, seq, task_id, type, data, timestamp)
    SELECT workflow_id, 10 * row_number() OVER (PARTITION BY workflow_id ORDER BY id) - 10 + s, id,
      CASE WHEN s > 5 THEN 'message_delta' ELSE 'log' END, '{"delta": "text"}', created_at FROM tasks, generate_series(1, 10) s`,
  `INSERT INTO workflows (id, agent_id, owner, owner_login) SELECT ${ID('0', WORKFLOWS)}, id, 'many', 'o' FROM agents`,
  `INSERT INTO tasks (id, workflow_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, model, status, error_code, total_in, cost,
      created_at, started_at, completed_at)
    SELECT overlay(${ID('n', MANY)}::text PLACING '7000-9' FROM 15)::uuid, w.id, w.owner, 'o', 'all of them ' || n, 'h', w.agent_id, 'a', 'm' || n % 10,
      CASE WHEN n = 7 THEN 'waiting' WHEN n % 20 = 0 THEN 'failed' ELSE 'completed' END, CASE WHEN n % 20 = 0 THEN 'e' || n % 3 END,
      n % 1000, n % 1000, ${TIME('n', MANY)}, ${TIME('n', MANY)}, CASE WHEN n <> 7 THEN ${TIME('n', MANY)} + n % 1000 * interval '1 second' END
    FROM generate_series(1, ${MANY}) n JOIN workflows w ON w.owner = 'many'`,
  `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, status)
    SELECT id, '1-1', 1, 1, CASE WHEN prompt = 'all of them 13' THEN 'rare' ELSE 'frequent' END, '{}', 'read', 'done'
    FROM tasks WHERE owner = 'many'`,
  // Which rows are seen by everybody: what an index has of those is not read in the table.
  'VACUUM ANALYZE',
];

interface Asked {
  text: string;
  values?: unknown[];
  /** Whether it is planned for these values. */
  planned_for_values?: boolean;
}

let place: TestDatabase;
let database: Database;
let store: Store;
let asked: Asked[] = [];

/** Every statement goes to Postgres, and is noted here. */
const noteStatements = (client: pg.PoolClient) => {
  const query = client.query.bind(client) as (...given: unknown[]) => unknown;
  let planned_for_values = false;
  client.query = ((given: string | Asked, ...rest: unknown[]) => {
    const text = typeof given === 'string' ? given : given.text;
    const values = (typeof given === 'string' ? undefined : given.values) ?? (Array.isArray(rest[0]) ? rest[0] : undefined);
    if (text.includes(`set_config('plan_cache_mode', 'force_custom_plan', true)`)) planned_for_values = true;
    if (text === 'COMMIT') planned_for_values = false;
    asked.push({ text, values, planned_for_values });
    return query(given, ...rest);
  }) as typeof client.query;
};

beforeAll(async () => {
  place = await testDatabase();
  const filling = new pg.Client(place.url);
  await filling.connect();
  for (const text of FILL) await filling.query(text);
  await filling.end();
  database = openDatabase({ url: place.url });
  database.pool.on('connect', noteStatements);
  store = createStore({ database, keys: keyRing(`k:${randomBytes(32).toString('base64')}`) });
}, 120_000);
afterAll(async () => {
  await database.close();
  await place.drop();
});

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Loops': number;
  'Actual Rows': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
const literal = (value: unknown): string => {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]`;
  return pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value));
};

/** Its plan, of which every part has to be set up. The embedded server plans for unknown values, unless it is asked not to. */
async function planOf({ text, values = [], planned_for_values }: Asked): Promise<PlanNode[]> {
  const client = new pg.Client(place.url);
  await client.connect();
  try {
    await client.query(`SET plan_cache_mode = ${planned_for_values ? 'force_custom_plan' : 'force_generic_plan'}`);
    await client.query(`PREPARE asked AS ${text}`);
    const given = values.length > 0 ? `(${values.map(literal).join(', ')})` : '';
    const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked${given}`);
    return nodesOf(rows[0]['QUERY PLAN'][0].Plan);
  } finally {
    await client.end();
  }
}

/** What of its plan is carried out. */
const carriedOut = async (statement: Asked): Promise<PlanNode[]> =>
  (await planOf(statement)).filter((node) => node['Actual Loops'] > 0);

async function plansOf(work: () => Promise<unknown>): Promise<PlanNode[][]> {
  asked = [];
  await work();
  const read = asked.filter(({ text }) => /^\s*(SELECT|WITH)/.test(text));
  expect(read.length).toBeGreaterThan(0);
  return Promise.all(read.map(carriedOut));
}

const isOf = (table: string) => (node: PlanNode) => `${node['Relation Name']}_`.startsWith(`${table}_`);
const readWhole = (nodes: PlanNode[]) =>
  nodes.filter((node) => node['Node Type'] === 'Seq Scan' && GROWING.some((table) => isOf(table)(node)));
const partitionsRead = (nodes: PlanNode[]) => new Set(nodes.filter(isOf('events')).map((node) => node['Relation Name']));

/** A workflow from the middle of the time, and its last task. */
async function chosen() {
  const { rows } = await database.pool.query(
    `SELECT id, last_task_id FROM workflows ORDER BY id OFFSET ${WORKFLOWS / 2} LIMIT 1`,
  );
  return { workflow_id: rows[0].id as string, task_id: rows[0].last_task_id as string };
}

/** Everything that happens before a stream's first event is sent, and each later read of the record. */
const STREAMS: Record<string, (of: { workflow_id: string; task_id: string }) => Promise<unknown>> = {
  'who may read a run, and where its record ends': ({ workflow_id, task_id }) =>
    eventStore(database.pool).loadStreamState(workflow_id, { task_id, after: 0, epoch: 0 }),
  'where the last run begins': ({ workflow_id }) => eventStore(database.pool).beforeLastRun(workflow_id),
  'where the record of a run ends': ({ workflow_id, task_id }) =>
    eventStore(database.pool).extent(workflow_id, { task_id, after: 0, epoch: 0 }),
  'where the record ends': ({ workflow_id }) =>
    eventStore(database.pool).extent(workflow_id, { task_id: null, after: 0, epoch: 0 }),
  'where a reader from before a restore begins again': ({ workflow_id }) =>
    eventStore(database.pool).extent(workflow_id, { task_id: null, after: 1_000, epoch: 0 }),
  'the events of a run': ({ workflow_id, task_id }) =>
    eventStore(database.pool).read(workflow_id, { after: 0, task_id, bytes: 1_000 }),
  'the events of a workflow': ({ workflow_id }) => eventStore(database.pool).read(workflow_id, { after: 0, bytes: 1_000 }),
  'a large event': ({ workflow_id }) => eventStore(database.pool).one(workflow_id, 7),
  'the messages and logs of the last run': ({ task_id }) => store.workflows.lastRun(task_id),
};

const SOME = { owner: 'o1', limit: 20 };
const LISTS: typeof STREAMS = {
  tasks: () => store.tasks.list(SOME),
  'tasks, the oldest first': () => store.tasks.list({ ...SOME, sort: 'oldest' }),
  'tasks, by cost': () => store.tasks.list({ ...SOME, sort: 'cost' }),
  'tasks, by duration': () => store.tasks.list({ ...SOME, sort: 'duration' }),
  'failed tasks': () => store.tasks.list({ ...SOME, status: 'failed' }),
  'tasks of a model': () => store.tasks.list({ ...SOME, model: 'm' }),
  'tasks that called a tool': () => store.tasks.list({ ...SOME, tool: 't' }),
  'tasks of some days that cost something': () =>
    store.tasks.list({ ...SOME, min_cost: 0.1, max_cost: 9, since: '2026-03-01T00:00:00Z', until: '2026-04-01T00:00:00Z' }),
  'the task that waits longest': () => store.tasks.list({ ...SOME, status: 'waiting', sort: 'oldest' }),
  'tasks with a word': () => store.tasks.list({ ...SOME, q: 'word' }),
  'tasks of a workflow': ({ workflow_id }) => store.tasks.list({ ...SOME, workflow_id }),
  'the next page of tasks': async () => {
    const { next } = await store.tasks.list(SOME);
    return store.tasks.list({ ...SOME, cursor: next as string });
  },
  'errors of tasks': () => store.tasks.errors({ owner: 'o1' }),
  workflows: () => store.workflows.list(SOME),
};

/** Rows of tasks and their calls, and entries of their indexes, that a plan looks at. */
const rowsOfTasks = (nodes: PlanNode[]) =>
  nodes
    .filter((node) => isOf('tasks')(node) || isOf('tool_calls')(node))
    .map((node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'])
    .reduce((sum, rows) => sum + rows, 0);

type Filter = Parameters<Store['tasks']['list']>[0];

/** Lists of ${MANY} tasks, with the most rows that one of their statements may look at. */
const OF_MANY: Record<string, [most: number, (filter: Filter) => Promise<unknown>]> = {
  'the newest': [100, (filter) => store.tasks.list(filter)],
  'the dearest': [100, (filter) => store.tasks.list({ ...filter, sort: 'cost' })],
  'the longest': [100, (filter) => store.tasks.list({ ...filter, sort: 'duration' })],
  'the largest': [100, (filter) => store.tasks.list({ ...filter, sort: 'tokens' })],
  'the next page of the dearest': [
    100,
    async (filter) => {
      const { next } = await store.tasks.list({ ...filter, sort: 'cost' });
      return store.tasks.list({ ...filter, sort: 'cost', cursor: next as string });
    },
  ],
  'the one that waits longest': [10, (filter) => store.tasks.list({ ...filter, status: 'waiting', sort: 'oldest' })],
  'failed ones': [100, (filter) => store.tasks.list({ ...filter, status: 'failed' })],
  'a word that all of them have': [200, (filter) => store.tasks.list({ ...filter, q: 'all' })],
  'the dearest with such a word': [200, (filter) => store.tasks.list({ ...filter, q: 'all', sort: 'cost' })],
  'a word that one of them has': [10, (filter) => store.tasks.list({ ...filter, q: '4711' })],
  'ones of a model': [1_000, (filter) => store.tasks.list({ ...filter, model: 'm3' })],
  'one that called a rare tool': [10, (filter) => store.tasks.list({ ...filter, tool: 'rare' })],
  'their errors': [MANY / 20 + 10, ({ owner }) => store.tasks.errors({ owner })],
};

describe('with large tables in many partitions', () => {
  it('every growing table is large, and events have partitions', async () => {
    for (const table of GROWING) {
      const { rows } = await database.pool.query(`SELECT count(*)::int AS n FROM ${table}`);
      expect(rows[0].n, table).toBeGreaterThanOrEqual(WORKFLOWS);
    }
    const { rows } = await database.pool.query('SELECT DISTINCT tableoid::regclass::text AS name FROM events');
    expect(rows.length).toBeGreaterThan(WEEKS * 7);
  });

  it.each(Object.entries(STREAMS))('%s: read by indexes, in the partitions of the run or workflow only', async (_name, work) => {
    const home = await chosen();
    const { rows } = await database.pool.query(
      'SELECT DISTINCT tableoid::regclass::text AS name FROM events WHERE workflow_id = $1',
      [home.workflow_id],
    );
    const own = new Set(rows.map(({ name }) => name));
    const plans = await plansOf(() => work(home));
    expect(plans).not.toEqual([]);
    for (const nodes of plans) {
      expect(readWhole(nodes)).toEqual([]);
      expect([...partitionsRead(nodes)].filter((name) => !own.has(name))).toEqual([]);
    }
  });

  it('the end of the record is found without setting up a plan for the partitions', async () => {
    const { workflow_id, task_id } = await chosen();
    for (const place of [{ task_id }, { task_id: null }]) {
      asked = [];
      expect((await eventStore(database.pool).extent(workflow_id, { ...place, after: 1, epoch: 0 })).last).toBe(100);
      const plans = await Promise.all(asked.map(planOf));
      expect(plans).toHaveLength(1);
      expect(partitionsRead(plans.flat())).toEqual(new Set());
    }
  });

  it('a read that does not know where its events are is noticed', async () => {
    const { workflow_id } = await chosen();
    const plans = await plansOf(() => database.pool.query('SELECT seq FROM events WHERE workflow_id = $1', [workflow_id]));
    expect(partitionsRead(plans.flat()).size).toBeGreaterThan(WEEKS);
  });

  it.each(Object.entries(LISTS))('the list of %s reads no growing table as a whole', async (_name, work) => {
    const home = await chosen();
    const plans = await plansOf(() => work(home));
    expect(plans).not.toEqual([]);
    for (const nodes of plans) expect(readWhole(nodes)).toEqual([]);
  });

  it.each(Object.entries(OF_MANY))('of a person with most of the tasks: %s reads few of them', async (_name, [most, wanted]) => {
    const plans = await plansOf(() => wanted({ owner: 'many', limit: 20, count_to: 100 }));
    expect(plans).not.toEqual([]);
    for (const nodes of plans) expect(rowsOfTasks(nodes)).toBeLessThanOrEqual(most);
  });
});
