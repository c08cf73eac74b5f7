import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRun } from '../../src/store/runs/runs.sql.ts';
import { createTask, discardTask, takeLanes } from '../../src/store/runs/tasks.sql.ts';
import { earlierMessages } from '../../src/store/runs/threads.sql.ts';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';

const TASKS = 12_000;
const THREADS = 3_000;
const TURNS = 500;
const FIRST_WORKFLOW = '00000000-0000-7000-8000-000000000002';
const LONG_THREAD = '00000000-0000-7000-8000-000000000003';
const turnId = (turn: number) => `00000000-0000-7000-8001-${String(turn).padStart(12, '0')}`;
const TASK_ID = `('00000000-0000-7000-8002-' || lpad(n::text, 12, '0'))::uuid`;
const WORKFLOW_ID = (n: string) => `('00000000-0000-7000-8003-' || lpad((${n})::text, 12, '0'))::uuid`;
const TURN_ID = (n: string) => `('00000000-0000-7000-8001-' || lpad((${n})::text, 12, '0'))::uuid`;
const COLUMNS = `id, workflow_id, thread_id, thread_turn, previous_task_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, status, completed_at`;

const FILL = [
  'SELECT make_event_partitions(now(), now())',
  `INSERT INTO agents (id, name, created_by) VALUES ('00000000-0000-7000-8000-000000000001', 'a', 'o')`,
  `INSERT INTO definitions (hash, body) VALUES ('h', '{"model": "m"}')`,
  `INSERT INTO workflows (id, agent_id, owner, owner_login) SELECT '${FIRST_WORKFLOW}', id, 'o', 'o' FROM agents`,
  `INSERT INTO workflows (id, agent_id, owner, owner_login)
    SELECT ${WORKFLOW_ID('n')}, a.id, 'o' || n, 'o' FROM agents a, generate_series(0, 1199) n`,
  // Each thread but one has one turn; their workflows have other tasks, too.
  `INSERT INTO threads (id, owner, owner_login, workflow_id, head_task_id)
    SELECT ${TASK_ID}, 'o', 'o', ${WORKFLOW_ID('n % 1200')}, ${TASK_ID} FROM generate_series(1, ${THREADS}) n`,
  `INSERT INTO threads (id, owner, owner_login, workflow_id, head_task_id)
    VALUES ('${LONG_THREAD}', 'o', 'o', '${FIRST_WORKFLOW}', '${turnId(TURNS)}')`,
  `INSERT INTO tasks (${COLUMNS})
    SELECT ${TASK_ID}, ${WORKFLOW_ID('n % 1200')}, CASE WHEN n <= ${THREADS} THEN ${TASK_ID} END, CASE WHEN n <= ${THREADS} THEN 1 END, NULL,
      'o' || n % 1200, 'o', 'p', 'h', a.id, 'a', 'completed', now() FROM agents a, generate_series(1, ${TASKS}) n`,
  `INSERT INTO tasks (${COLUMNS})
    SELECT ${TURN_ID('n')}, '${FIRST_WORKFLOW}', '${LONG_THREAD}', n, CASE WHEN n > 1 THEN ${TURN_ID('n - 1')} END,
      'o', 'o', 'p', 'h', a.id, 'a', 'completed', now() FROM agents a, generate_series(1, ${TURNS}) n`,
  // Three messages of each task.
  `INSERT INTO task_messages (task_id, step, position, role, kind, content) SELECT id, 1, n, 'user', 'prompt', 'c' FROM tasks, generate_series(0, 2) n`,
  `INSERT INTO event_sequences SELECT id, 100 FROM workflows`,
  'VACUUM ANALYZE',
];

let place: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  place = await testDatabase();
  client = new pg.Client(place.url);
  await client.connect();
  for (const text of FILL) await client.query(text);
}, 120_000);
afterAll(async () => {
  await client.end();
  await place.drop();
});

interface Read {
  relname: string;
  /** Rows read without an index, and rows that an index has found. */
  seq_tup_read: number;
  idx_tup_fetch: number;
}

/** Carries a statement out after others, and undoes all. Returns its first row, and what it has read of each table, also within functions. */
async function readsOf(query: pg.QueryConfig, before: string[] = []) {
  const counts = async () => {
    const { rows } = await client.query<Read>(
      `SELECT relname, seq_tup_read::int, coalesce(idx_tup_fetch, 0)::int AS idx_tup_fetch FROM pg_stat_xact_user_tables
        WHERE relname IN ('tasks', 'task_messages', 'threads', 'workflows') ORDER BY relname`,
    );
    return new Map(rows.map((read) => [read.relname, read]));
  };
  // As a server does that does not know the values when it plans.
  await client.query('BEGIN; SET LOCAL plan_cache_mode = force_generic_plan');
  try {
    for (const text of before) await client.query(text);
    const had = await counts();
    const { rows } = await client.query({ text: query.text, values: query.values });
    const read = [...(await counts()).values()].map(({ relname, seq_tup_read, idx_tup_fetch }) => ({
      table: relname,
      whole: seq_tup_read - had.get(relname)!.seq_tup_read,
      found: idx_tup_fetch - had.get(relname)!.idx_tup_fetch,
    }));
    return {
      row: rows[0],
      whole: read.filter(({ whole }) => whole > 0),
      found: (table: string) => read.find((one) => one.table === table)!.found,
    };
  } finally {
    await client.query('ROLLBACK');
  }
}

/** The statement that accepts a task of the first workflow. */
function accept(place_of_turn: object, begins_thread = false) {
  const task = {
    ...{
      id: randomUUID(),
      workflow_id: FIRST_WORKFLOW,
      owner: 'o',
      owner_login: 'o',
      agent_id: '00000000-0000-7000-8000-000000000001',
    },
    ...{
      agent_name: 'a',
      beside_lane: false,
      definition_hash: 'h',
      prompt: 'p',
      attachments: [],
      on_busy: 'enqueue',
      trigger: 'prompt',
      created_at: new Date(),
    },
  };
  return createTask({
    ...{
      task: JSON.stringify({ ...task, ...place_of_turn }),
      receipt: null,
      begins_thread,
      title: 't',
      definition: '{}',
      config: null,
      version_id: randomUUID(),
    },
    ...{ is_trial: true, due_at: null, most_open: null, events: '[]', claim: null },
  });
}

it.each([
  ['a task without a thread', () => accept({})],
  ['the first turn of a thread', () => accept({ thread_id: randomUUID() }, true)],
  ['the next turn of a long thread', () => accept({ thread_id: LONG_THREAD })],
])('accepting %s reads no table as a whole, and few tasks', async (_, query) => {
  const { row, whole, found } = await readsOf(query());
  expect(row.holder).toEqual(expect.any(String));
  expect(whole).toEqual([]);
  expect(found('tasks')).toBeLessThan(10);
  expect(found('threads')).toBeLessThan(7);
});

it('opening a run without a thread reads its own messages and no others', async () => {
  const { row, whole, found } = await readsOf(
    openRun({ task_id: `00000000-0000-7000-8002-${String(TASKS).padStart(12, '0')}`, step: 2 }),
  );
  expect([row.messages.length, row.earlier, row.thread_turn]).toEqual([3, [], null]);
  expect(whole).toEqual([]);
  expect([found('tasks'), found('task_messages')]).toEqual([1, 3]);
});

it('the messages of 499 turns before are found by an index', async () => {
  const { row, whole, found } = await readsOf(earlierMessages({ task_id: turnId(TURNS) }));
  expect(row.earlier).toHaveLength(499 * 3);
  expect(row.earlier.map(({ turn }: { turn: number }) => turn)).toEqual(
    row.earlier.map((_: unknown, index: number) => Math.floor(index / 3) + 1),
  );
  expect(whole).toEqual([]);
  expect(found('tasks')).toBeLessThan(3 * TURNS);
  expect(found('task_messages')).toBeLessThan(3 * 3 * TURNS);
});

it('of a summary in turn 490, the turns before it are not read', async () => {
  const summary = `INSERT INTO task_messages (task_id, step, position, role, kind, content) VALUES ('${turnId(490)}', 1, 7, 'user', 'summary', 's')`;
  const { row, found } = await readsOf(earlierMessages({ task_id: turnId(TURNS) }), [summary]);
  expect(row.earlier).toHaveLength(10 * 3 + 1);
  expect(found('tasks')).toBeLessThan(40);
  expect(found('task_messages')).toBeLessThan(100);
});

const PENDING = (thread_id: string, turn: number) =>
  `UPDATE tasks SET status = 'pending', completed_at = NULL WHERE id = '${turnId(turn)}' AND thread_id = '${thread_id}'`;

it.each([
  ['ending a turn', () => ({ text: `SELECT end_task('${turnId(499)}', 'completed', NULL, NULL, '[]', 'u', 'n')` })],
  ['withdrawing a turn', () => discardTask({ task_id: turnId(499), claim: 1 })],
  ['switching a workflow on', () => takeLanes({ workflow_id: FIRST_WORKFLOW })],
])('%s reads no table as a whole', async (_, query) => {
  const holds = `UPDATE threads SET active_task_id = '${turnId(499)}' WHERE id = '${LONG_THREAD}'`;
  const { whole } = await readsOf(query(), [PENDING(LONG_THREAD, 499), PENDING(LONG_THREAD, 500), holds]);
  expect(whole).toEqual([]);
});
