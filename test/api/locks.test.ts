import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTask, takeLanes } from '../../src/store/runs/tasks.sql.ts';
import { getBackend } from '../../src/vendor/pg-internals.ts';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { allStatements } from '../support/database/statements.ts';
import { until } from '../support/until.ts';

const WORKFLOW = '0197a0c4-0000-7000-8000-000000000001';
const AGENT = '0197a0c4-0000-7000-8000-000000000002';
const TASK = '0197a0c4-0000-7000-8000-000000000003';
const EVENT = JSON.stringify([{ type: 'log', data: {}, timestamp: '2026-01-01T00:00:00Z' }]);

let place: TestDatabase;
let writer: pg.Client;
let settler: pg.Client;
let watcher: pg.Client;

beforeAll(async () => {
  place = await testDatabase();
  [writer, settler, watcher] = await Promise.all([connected(), connected(), connected()]);
});
afterAll(async () => {
  await Promise.all([writer, settler, watcher].map((client) => client.end()));
  await place.drop();
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client(place.url);
  await client.connect();
  return client;
}

/** How a writer of a run's events holds the task: the two ways of the statements in src/store/runs. */
const HOLDS = ['FOR SHARE', 'FOR NO KEY UPDATE'];

/** Every database function that locks a workflow, found in the database, with a call of it that concerns the task. */
const CALLS: Record<string, string> = {
  end_task: `SELECT end_task('${TASK}', 'halted', NULL, NULL, '${EVENT}', 'unknown', 'not called')`,
  discard_task: `SELECT discard_task('${TASK}')`,
  settle_lanes: 'SELECT settle_lanes()',
  note_restore: `INSERT INTO installation_facts (name, value) VALUES ('epoch', '{"epoch": 1, "beat": 1}') ON CONFLICT DO NOTHING;
    SELECT note_restore(NULL, NULL)`,
};

/** Writers of events themselves: they lock no workflow, and share the task with other writers. */
const WRITERS = ['append_text'];

/** What locks only messages, for a caller that holds their task. */
const OF_MESSAGES = ['take_messages', 'hand_over_messages'];
/** Locks the thread alone. */
const OF_THREADS = ['import_turn'];

/** What counts in budgets, after everything else of a run, by a call that two budgets apply to. */
const COUNTING: Record<string, string> = {
  reserve_budgets: `SELECT reserve_budgets('${uuid()}', '${uuid()}', false, 'local:alice', NULL, NULL, NULL, NULL, 1, 1, 1, 1, 30)`,
  spend_budgets: `SELECT spend_budgets(NULL, 'local:alice', NULL, NULL, NULL, NULL, 1, 1)`,
};

it('knows every database function that locks a row', async () => {
  const { rows } = await watcher.query(
    `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosrc ~ 'FOR (NO KEY )?UPDATE' ORDER BY 1`,
  );
  expect(rows.map(({ proname }) => proname)).toEqual(
    [...Object.keys(CALLS), ...WRITERS, ...OF_MESSAGES, ...OF_THREADS, ...Object.keys(COUNTING)].sort(),
  );
});

describe('a writer of events and a function that settles the same task', () => {
  for (const [name, call] of Object.entries(CALLS))
    for (const hold of HOLDS)
      it(`${name} waits for a writer that holds the task ${hold}, and both end`, async () => {
        await prepare(name === 'settle_lanes');
        await writer.query('BEGIN');
        await writer.query(`SELECT 1 FROM tasks WHERE id = $1 ${hold}`, [TASK]);
        const settled = settler.query(call);
        settled.catch(() => {});
        if (name !== 'settle_lanes') await until(`${name} waits`, () => isWaiting(settler));
        await writer.query('SELECT append_events($1, $2, $3)', [WORKFLOW, TASK, EVENT]);
        await writer.query('COMMIT');
        await settled;
      });
});

describe('what locks a thread and its workflow', () => {
  const THREAD = '0197a0c4-0000-7000-8000-000000000004';
  const agent = { agent_id: AGENT, agent_name: 'a' };
  const task = { id: uuid(), workflow_id: WORKFLOW, owner: 'local:alice', owner_login: 'alice', prompt: 'p', ...agent };
  const lane = { thread_id: THREAD, beside_lane: false, on_busy: 'enqueue' };
  const row = { ...task, ...lane, definition_hash: 'h', trigger: 'prompt', created_at: new Date() };
  const none = {
    receipt: null,
    begins_thread: false,
    title: null,
    config: null,
    version_id: null,
    due_at: null,
    most_open: null,
    claim: null,
  };
  const { note_restore: _, ...calls } = CALLS;
  const BOTH: Record<string, pg.QueryConfig> = {
    ...Object.fromEntries(Object.entries(calls).map(([name, text]) => [name, { text }])),
    create_task: createTask({ ...none, task: JSON.stringify(row), definition: '{}', is_trial: true, events: EVENT }),
    take_lanes: takeLanes({ workflow_id: WORKFLOW }),
  };

  /** A free lane can be taken, one whose task is lost can be settled; other tasks hold theirs. */
  const HOLDERS: Record<string, string | null> = { take_lanes: null, settle_lanes: AGENT };

  it.each(Object.entries(BOTH))('%s waits for the thread and does not hold the workflow meanwhile', async (name, call) => {
    const holder = name in HOLDERS ? HOLDERS[name] : TASK;
    await prepare(false);
    await watcher.query('UPDATE workflows SET active_task_id = $1', [holder]);
    await watcher.query(
      `INSERT INTO threads (id, workflow_id, owner, owner_login, active_task_id) VALUES ($1, $2, 'local:alice', 'alice', $3)`,
      [THREAD, WORKFLOW, holder],
    );
    await watcher.query('UPDATE tasks SET thread_id = $1', [THREAD]);
    await writer.query('BEGIN');
    await writer.query('SELECT 1 FROM threads WHERE id = $1 FOR NO KEY UPDATE', [THREAD]);
    const settled = settler.query(call);
    settled.catch(() => {});
    await until(`${name} waits`, () => isWaiting(settler));
    await writer.query('SELECT 1 FROM workflows WHERE id = $1 FOR NO KEY UPDATE', [WORKFLOW]);
    await writer.query('COMMIT');
    await settled;
  });
});

describe('two calls that the same budgets apply to', () => {
  const IDS = ['0197a0c4-0000-7000-8000-000000000011', '0197a0c4-0000-7000-8000-000000000012'];
  const lock = (id: string) =>
    writer.query(`SELECT 1 FROM budgets b JOIN budget_periods p ON p.budget_id = b.id WHERE b.id = $1 FOR NO KEY UPDATE OF p`, [
      id,
    ]);

  for (const [name, call] of Object.entries(COUNTING))
    it(`${name} locks the budgets by their ids, and does not hold the second while it waits for the first`, async () => {
      await watcher.query('DELETE FROM budgets');
      for (const id of IDS.toReversed())
        await watcher.query(
          `INSERT INTO budgets (id, name, scope, subject, period, time_zone, limit_tokens, warn_at, on_exhausted, created_by)
           VALUES ($1, 'b', 'person', 'local:alice', 'day', 'UTC', 100, '{}', 'wait', 'local:alice')`,
          [id],
        );
      await settler.query(COUNTING.spend_budgets!);
      await writer.query('BEGIN');
      await lock(IDS[0]!);
      const counted = settler.query(call);
      counted.catch(() => {});
      await until(`${name} waits`, () => isWaiting(settler));
      await lock(IDS[1]!);
      await writer.query('COMMIT');
      await counted;
    });
});

/** A workflow whose lane the task holds; `lost` when the task in the lane does not exist any more. */
async function prepare(lost: boolean): Promise<void> {
  await watcher.query('DELETE FROM workflows');
  await watcher.query('DELETE FROM events');
  await watcher.query(`INSERT INTO agents (id, name, created_by) VALUES ($1, 'a', 'local:alice') ON CONFLICT DO NOTHING`, [
    AGENT,
  ]);
  await watcher.query(
    `INSERT INTO workflows (id, agent_id, owner, owner_login, status, active_task_id) VALUES ($1, $2, 'local:alice', 'alice', 'running', $3)`,
    [WORKFLOW, AGENT, lost ? AGENT : TASK],
  );
  await watcher.query(`INSERT INTO definitions (hash, body) VALUES ('h', '{}') ON CONFLICT DO NOTHING`);
  await watcher.query(
    `INSERT INTO tasks (id, workflow_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name)
     VALUES ($1, $2, 'local:alice', 'alice', 'p', 'h', $3, 'a')`,
    [TASK, WORKFLOW, AGENT],
  );
}

async function isWaiting(client: pg.Client): Promise<boolean> {
  const pid = getBackend(client);
  const { rows } = await watcher.query(`SELECT wait_event_type = 'Lock' AS waits FROM pg_stat_activity WHERE pid = $1`, [pid]);
  return rows[0]?.waits === true;
}

it('no statement of the store waits for a row FOR UPDATE, which a foreign key conflicts with', async () => {
  const statements = await allStatements();
  expect(statements.filter(({ text }) => /FOR NO KEY UPDATE|FOR SHARE/.test(text))).not.toEqual([]);
  expect(statements.filter(({ text }) => /\bFOR UPDATE\b(?! SKIP LOCKED)/.test(text))).toEqual([]);
});
