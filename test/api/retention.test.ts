import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { v7 as uuid } from 'uuid';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, inTransaction, rows } from '../../src/store/database/database.ts';
import { createStore, type Store } from '../../src/store/index.ts';
import { holdSource } from '../../src/store/runs/forks.sql.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { BATCH, takeTurn } from '../../src/store/upkeep/retention.sql.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { agedRecords, daysAgo } from '../support/database/aged.ts';
import { openTestDatabase, tablesOf } from '../support/database/database.ts';
import { until } from '../support/until.ts';

let database: Database;
let store: Store;
let aged: ReturnType<typeof agedRecords>;
beforeEach(async () => {
  database = await openTestDatabase();
  store = createStore({ database, keys: keyRing(`k:${randomBytes(32).toString('base64')}`) });
  aged = agedRecords(database);
});
afterEach(() => database.close());

const WITHIN_MS = 30_000;
const removeEnded = (days = 30) => sweep(store.retention.ended(daysAgo(days)), WITHIN_MS);
const removeTransient = () => sweep(store.retention.transient(new Date()), WITHIN_MS);
const found = async (text: string, ...values: unknown[]) => (await database.pool.query(text, values)).rows;
const count = async (table: string, where = 'true') =>
  (await found(`SELECT count(*)::int AS n FROM ${table} WHERE ${where}`))[0].n;
const has = async (task_id: string) => (await found('SELECT 1 FROM tasks WHERE id = $1', task_id)).length === 1;

/** What is removed when it is old: the table, and which of its rows. */
const REMOVED: Record<string, string> = {
  attachments: `name = 'unused'`,
  conversation_files: 'true',
  conversation_items: 'true',
  definitions: 'true',
  events: 'true',
  idempotency_keys: 'true',
  memories: `scope = 'session'`,
  schedule_fires: 'true',
  secret_grants: 'superseded_at IS NOT NULL',
  task_attachments: 'true',
  task_messages: 'true',
  task_scores: 'true',
  task_steps: 'true',
  tasks: 'true',
  threads: 'true',
  token_uses: 'true',
  tool_calls: 'true',
  webhook_attempts: 'true',
  webhook_deliveries: 'true',
  workflow_versions: 'true',
  workflows: 'single_use',
  workspace_layers: 'true',
};

/** Tables whose rows stay, with the reason. A new table is removed from or gets a line here. */
const KEPT: Record<string, string> = {
  _prisma_migrations: 'one row a migration',
  agents: 'configuration',
  alert_events: 'the newest 200 of each alert; older ones go as new ones come',
  alerts: 'configuration',
  audit_entries: 'by AUDIT_RETENTION_DAYS: test/api/audit.test.ts',
  audit_queue: 'empties itself; goes with its entries: test/api/audit-webhook.test.ts',
  budget_periods: 'removed 40 days after their end: test/temporal/budgets.test.ts',
  budget_reservations: 'removed when their call is lost: test/temporal/budgets.test.ts',
  budget_waits: 'removed when their run has ended: test/temporal/budgets.test.ts',
  budgets: 'configuration',
  browser_sessions: 'removed when they expire: test/api/browser-sign-in.test.ts',
  thread_messages: 'they go with the task that they wait for, have entered or have begun',
  thread_tokens: 'removed when they expire: test/api/thread-tokens.test.ts',
  custom_tools: 'configuration',
  dataset_items: 'deleted by their owner',
  datasets: 'deleted by their owner',
  evaluation_results: 'they go with their dataset: pass rates stay comparable',
  evaluations: 'they go with their dataset: pass rates stay comparable',
  event_gaps: 'one row a workflow and restore: it goes with its workflow',
  event_sequences: 'one row a workflow: a number is never given out twice',
  grant_keys: 'one row',
  guardrails: 'configuration',
  installation_facts: 'a row for each fact',
  knowledge_chunks: 'parts of knowledge',
  knowledge_items: 'knowledge',
  knowledge_sources: 'configuration',
  mcp_servers: 'configuration',
  mcp_sign_in_attempts: 'removed when they expire: test/temporal/mcp-sign-in.test.ts',
  mcp_listings: 'one row a principal and server',
  mcp_sign_ins: 'one row a principal and server',
  model_catalogue: 'one row',
  named_windows: 'one row a provider and model',
  person_settings: 'one row a principal',
  principals: 'one row a principal',
  provider_rates: 'one row a provider',
  providers: 'configuration',
  scheduled_agents: 'configuration',
  service_keys: 'configuration',
  skills: 'configuration',
  stored_tokens: 'configuration',
  usage_calls: 'sums by the hour, without texts: what was spent stays known',
  usage_runs: 'sums by the hour, without texts: what was spent stays known',
  webhook_secrets: 'one row a principal',
  worker_beats: 'removed minutes after their worker was last seen: test/temporal/system.test.ts',
};

/** One of everything that is removed, and some of what stays, made at one time. */
async function madeAt(at: Date): Promise<void> {
  const home = await aged.workflow(at);
  const task_id = await aged.task(at, home);
  await aged.partsOf(at, task_id);
  await aged.conversation(at);
  await aged.thread(at, home.workflow_id);
  await aged.attachment(at, 'unused');
  await aged.tokenUse(at, task_id);
  await aged.grant(at, at);
  await aged.grant(at, null);
  await aged.fire(await aged.schedule(at), at);
  await aged.memory(at, 'agent', home);
  await aged.memory(at, 'session', await aged.workflow(at, true));
  const key = [uuid(), at];
  await aged.sql(`INSERT INTO idempotency_keys (principal, key, request_hash, created_at) VALUES ('p', $1, 'h', $2)`, ...key);
}

type Snapshot = Record<string, { removable: string[]; rest: string[] }>;

/** Facts change by themselves; the deletion of a task adds what it spent to the sums. */
const CHANGING = ['installation_facts', 'usage_calls', 'usage_runs'];

async function snapshot(): Promise<Snapshot> {
  const tables = (await tablesOf(database)).filter((name) => !CHANGING.includes(name));
  const rowsOf = async (table: string, where: string) =>
    (await found(`SELECT to_jsonb(t)::text AS row FROM ${table} t WHERE ${where} ORDER BY 1`)).map(({ row }) => row);
  return Object.fromEntries(
    await Promise.all(
      tables.map(async (name) => {
        const where = REMOVED[name] ?? 'false';
        return [name, { removable: await rowsOf(name, where), rest: await rowsOf(name, `NOT (${where})`) }];
      }),
    ),
  );
}

describe('every table', () => {
  it('is either one whose old rows are removed, or is listed with the reason why its rows stay', async () => {
    expect(await tablesOf(database)).toEqual([...Object.keys(REMOVED), ...Object.keys(KEPT)].sort());
  });

  it('loses its old rows if they are to be removed, and no other row', async () => {
    await madeAt(daysAgo(0.5));
    const young = await snapshot();
    await madeAt(daysAgo(40));
    const all = await snapshot();
    expect(Object.keys(REMOVED).filter((table) => all[table]?.removable.length === young[table]?.removable.length)).toEqual([]);
    await removeTransient();
    expect((await removeEnded()).finished).toBe(true);
    const expected = Object.fromEntries(
      Object.keys(all).map((table) => [table, { removable: young[table]?.removable, rest: all[table]?.rest }]),
    );
    expect(await snapshot()).toEqual(expected);
  });
});

describe('the time that ages are counted up to', () => {
  const DAY_MS = 86_400_000;
  const setTo = (at: Date) =>
    aged.sql(
      `INSERT INTO installation_facts (name, value) VALUES ('aging_clock', $1)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      at.toISOString(),
    );
  const advanced = async () => (await store.retention.advanceAgingClock()).getTime();
  const isNow = async () => expect(Math.abs((await advanced()) - (await store.retention.now()).getTime())).toBeLessThan(60_000);

  it('is now in a new installation, and in one that is used', async () => {
    expect(await store.retention.agingClock()).toBeNull();
    await isNow();
    await setTo(daysAgo(0.5));
    await isNow();
  });

  it('begins a day after the newest end of a task', async () => {
    await aged.task(daysAgo(900));
    const newest = daysAgo(400);
    await aged.task(newest);
    expect(await advanced()).toBe(newest.getTime() + DAY_MS);
    expect((await store.retention.agingClock())?.at.getTime()).toBe(newest.getTime() + DAY_MS);
  });

  it('moves by a day at most each time, until it is now', async () => {
    const noted = daysAgo(2.5);
    await setTo(noted);
    expect([await advanced(), await advanced()]).toEqual([noted.getTime() + DAY_MS, noted.getTime() + 2 * DAY_MS]);
    await isNow();
  });

  it('goes back with a clock that was ahead', async () => {
    await setTo(daysAgo(-3_000));
    await isNow();
  });
});

describe('an old task stays', () => {
  it('until it has ended', async () => {
    const open = await Promise.all(['pending', 'running', 'waiting'].map((status) => aged.task(daysAgo(400), { status })));
    await removeEnded();
    expect(await Promise.all(open.map(has))).toEqual([true, true, true]);
  });

  it('as long as a fork of it is there, ended or not', async () => {
    const source = await aged.task(daysAgo(50));
    const middle = await aged.task(daysAgo(49), { forked_from: source });
    const fork = await aged.task(daysAgo(48), { forked_from: middle, status: 'waiting' });
    await removeEnded();
    expect(await Promise.all([source, middle, fork].map(has))).toEqual([true, true, true]);
    await aged.sql(`UPDATE tasks SET status = 'completed', completed_at = $2 WHERE id = $1`, fork, daysAgo(2));
    await removeEnded();
    expect(await Promise.all([source, middle, fork].map(has))).toEqual([true, true, true]);
    for (let pass = 0; pass < 3; pass += 1) await removeEnded(1);
    expect(await Promise.all([source, middle, fork].map(has))).toEqual([false, false, false]);
  });

  it('while one of its webhook messages is being delivered', async () => {
    const task_id = await aged.task(daysAgo(40));
    await aged.partsOf(daysAgo(40), task_id);
    await aged.sql(`UPDATE webhook_deliveries SET status = 'pending'`);
    await removeEnded();
    expect(await has(task_id)).toBe(true);
  });

  it('while someone is forking it: nobody waits, and the fork is noticed', async () => {
    const source = await aged.task(daysAgo(40));
    const fork = await aged.task(daysAgo(0));
    await inTransaction(database.pool, async (on) => {
      await rows(on, holdSource({ source_id: source }));
      expect((await removeEnded()).removed.tasks).toBeUndefined();
      await on.query({ text: 'UPDATE tasks SET forked_from = $2 WHERE id = $1', values: [fork, source] });
    });
    await removeEnded();
    expect(await has(source)).toBe(true);
  });
});

describe('a thread', () => {
  /** Writes a thread with two turns that ended 50 and 40 days ago. */
  async function threadOf(home: { workflow_id: string }, used_at: Date) {
    const id = await aged.thread(used_at, home.workflow_id);
    const turns = [await aged.task(daysAgo(50), home), await aged.task(daysAgo(40), home)];
    await aged.sql('UPDATE tasks SET thread_id = $1 WHERE id = ANY ($2)', id, turns);
    const left = async () => [...(await Promise.all(turns.map(has))), await count('threads', `id = '${id}'`)];
    return { id, left };
  }

  it('keeps its turns as long as it was used within the time, and is removed with them', async () => {
    const home = await aged.workflow(daysAgo(60));
    const [unused, used] = await Promise.all([31, 29].map((days) => threadOf(home, daysAgo(days))));
    await removeEnded(30);
    expect(await unused!.left()).toEqual([false, false, 0]);
    expect(await used!.left()).toEqual([true, true, 1]);
    await removeEnded(28);
    expect(await used!.left()).toEqual([false, false, 0]);
  });

  it('keeps its turns while one of them waits, however long', async () => {
    const home = await aged.workflow(daysAgo(60));
    const thread = await threadOf(home, daysAgo(35));
    const waiting = await aged.task(daysAgo(35), { ...home, status: 'waiting' });
    await aged.sql('UPDATE tasks SET thread_id = $2 WHERE id = $1', waiting, thread.id);
    await aged.sql('UPDATE threads SET active_task_id = $1', waiting);
    await removeEnded(30);
    expect(await thread.left()).toEqual([true, true, 1]);
  });

  it('without turns is removed when it was not used for the time, and so is the workflow that was made for it', async () => {
    const [unused, used] = await Promise.all([1, 2].map(() => aged.workflow(daysAgo(40), true)));
    await aged.thread(daysAgo(31), unused!.workflow_id);
    await aged.sql(
      'UPDATE threads SET updated_at = $2 WHERE id = $1',
      await aged.thread(daysAgo(40), used!.workflow_id),
      daysAgo(29),
    );
    await removeEnded(30);
    expect(await found('SELECT workflow_id FROM threads')).toEqual([{ workflow_id: used!.workflow_id }]);
    expect(await found('SELECT id FROM workflows')).toEqual([{ id: used!.workflow_id }]);
    await removeEnded(28);
    expect(await count('workflows')).toBe(0);
  });
});

describe('what old tasks left behind', () => {
  it('uses of tokens stay as long as the task, which must redact them', async () => {
    await aged.tokenUse(daysAgo(40), await aged.task(daysAgo(40), { status: 'waiting' }));
    await aged.tokenUse(daysAgo(40), uuid());
    await aged.tokenUse(daysAgo(40));
    expect((await removeEnded()).removed).toEqual({ token_uses: 2 });
  });

  it('files of a conversation stay as long as the conversation', async () => {
    await aged.conversation(daysAgo(40));
    await removeTransient();
    expect(await count('attachments')).toBe(1);
    await removeEnded();
    await removeTransient();
    expect(await count('attachments')).toBe(0);
  });

  it('a turn stays while a turn that follows it is kept, also one further on and in no thread', async () => {
    const [first, second, third] = [await aged.task(daysAgo(50)), await aged.task(daysAgo(45)), await aged.task(daysAgo(7))];
    const follow = 'UPDATE tasks SET previous_task_id = $2 WHERE id = $1';
    await aged.sql(follow, second, first);
    await aged.sql(follow, third, second);
    const other = await aged.task(daysAgo(45));
    await removeEnded();
    expect([await has(first), await has(second), await has(third), await has(other)]).toEqual([true, true, true, false]);
    await aged.sql(`UPDATE tasks SET completed_at = $2 WHERE id = $1`, third, daysAgo(41));
    await removeEnded();
    expect([await has(first), await has(second), await has(third)]).toEqual([false, false, false]);
  });

  it('a superseded grant stays while a task that is older than its end is open', async () => {
    await aged.grant(daysAgo(60), daysAgo(45));
    const task_id = await aged.task(daysAgo(50), { status: 'waiting' });
    await aged.grant(daysAgo(60), daysAgo(55));
    expect((await removeEnded()).removed).toEqual({ secret_grants: 1 });
    expect(await count('secret_grants', `superseded_at > now() - interval '50 days'`)).toBe(1);
    await aged.sql(`UPDATE tasks SET status = 'halted', completed_at = now() WHERE id = $1`, task_id);
    expect((await removeEnded()).removed).toEqual({ secret_grants: 1 });
  });

  it('a definition stays as long as a task has it, and one that a new task stores at the same moment is stored', async () => {
    const definition_hash = await aged.definition(daysAgo(40));
    await aged.task(daysAgo(40), { definition_hash });
    await aged.task(daysAgo(1), { definition_hash });
    const unused = await aged.definition(daysAgo(40));
    const { removed } = await removeEnded();
    expect(removed).toMatchObject({ tasks: 1, definitions: 1 });
    expect(await found('SELECT 1 FROM definitions WHERE hash = $1', definition_hash)).toHaveLength(1);
    expect(await found('SELECT 1 FROM definitions WHERE hash = $1', unused)).toHaveLength(0);
  });

  it('a workflow for one request goes with its last task, unless a schedule uses it', async () => {
    const [over, busy, planned] = await Promise.all([1, 2, 3].map(() => aged.workflow(daysAgo(40), true)));
    await aged.task(daysAgo(1), busy);
    await aged.schedule(daysAgo(40));
    await aged.sql('UPDATE scheduled_agents SET workflow_id = $1', planned?.workflow_id);
    await aged.task(daysAgo(40), over);
    await removeEnded();
    const left = await found('SELECT id FROM workflows WHERE single_use ORDER BY id');
    expect(left.map(({ id }) => id)).toEqual([busy?.workflow_id, planned?.workflow_id].sort());
  });

  it('due times that were removed are not taken for missed ones, nor are those removed that a schedule may catch up on', async () => {
    const schedule_id = await aged.schedule(daysAgo(50));
    const patient = await aged.schedule(daysAgo(50), 45 * 86_400);
    const start = (await store.scheduledAgents.find(schedule_id))?.start_at.getTime() ?? 0;
    for (let day = 0; day < 50; day += 1)
      await aged.fire(schedule_id, new Date(Math.floor(start / 1000) * 1000 + day * 86_400_000));
    await aged.fire(patient, daysAgo(40));
    await aged.fire(patient, daysAgo(46));
    await aged.fire(patient, daysAgo(47), daysAgo(0));
    expect((await removeEnded()).removed).toEqual({ schedule_fires: 22 });
    expect(await count('schedule_fires', `scheduled_agent_id = '${patient}'`)).toBe(2);
    const schedule = await store.scheduledAgents.find(schedule_id);
    await store.scheduledAgents.noteMissed(schedule!, Date.now());
    expect(await found(`SELECT due_at FROM schedule_fires WHERE outcome = 'missed'`)).toEqual([]);
    await aged.sql(`DELETE FROM schedule_fires WHERE scheduled_agent_id = $1 AND due_at > $2`, schedule_id, daysAgo(2.5));
    // A process that has compared this schedule before leaves out what it has compared.
    const saved_again = { ...schedule!, updated_at: new Date(schedule!.updated_at.getTime() + 1) };
    await store.scheduledAgents.noteMissed(saved_again, Date.now());
    expect(await count('schedule_fires', `outcome = 'missed'`)).toBeGreaterThan(0);
  });
});

describe('deltas', () => {
  it('of tasks that ended more than a day ago are removed, other events and other tasks keep theirs', async () => {
    const [old, young, open] = [
      await aged.task(daysAgo(2)),
      await aged.task(daysAgo(0.5)),
      await aged.task(daysAgo(9), { status: 'running' }),
    ];
    for (const task_id of [old, young, open]) {
      await aged.events(daysAgo(3), task_id, 5, 'message_delta');
      await aged.events(daysAgo(3), task_id, 2, 'message');
    }
    expect((await removeTransient()).removed).toEqual({ deltas: 5 });
    const left = await found('SELECT task_id, type, count(*)::int AS n FROM events GROUP BY 1, 2');
    const of = (task_id: string) =>
      Object.fromEntries(left.filter((row) => row.task_id === task_id).map(({ type, n }) => [type, n]));
    expect([of(old), of(young), of(open)]).toEqual([
      { message: 2 },
      { message: 2, message_delta: 5 },
      { message: 2, message_delta: 5 },
    ]);
  });

  it('are looked for in each task once, and in as many at a time as hold five thousand events', async () => {
    for (let made = 0; made < 5; made += 1) await aged.events(daysAgo(3), await aged.task(daysAgo(3)), 2_000, 'message_delta');
    const batch = store.retention.transient(new Date()).deltas!;
    expect([(await batch()).removed, (await batch()).removed, (await batch()).removed]).toEqual([4_000, 4_000, 2_000]);
    const [{ task_id }] = await found('SELECT id AS task_id FROM tasks ORDER BY completed_at, id LIMIT 1');
    await aged.events(daysAgo(3), task_id, 1, 'message_delta');
    expect(await batch()).toEqual({ removed: 0, next: null });
  });
});

describe('two processes that remove at the same time', () => {
  it('take turns: while one is at it, the other finds nothing to do and does not wait', async () => {
    await madeAt(daysAgo(40));
    await inTransaction(database.pool, async (on) => {
      await rows(on, takeTurn());
      expect([await removeTransient(), await removeEnded()]).toEqual(Array(2).fill({ removed: {}, finished: true }));
    });
    expect((await removeEnded()).removed).toMatchObject({ tasks: 1, schedule_fires: 1, token_uses: 1 });
  });

  it('remove everything once, while tasks are being created and end', async () => {
    const home = await aged.workflow(daysAgo(40));
    for (let made = 0; made < 450; made += 1) {
      const task_id = await aged.task(daysAgo(40), home);
      if (made % 10 === 0) await aged.partsOf(daysAgo(40), task_id);
    }
    const removing = Array.from({ length: 3 }, async () => {
      let tasks = 0;
      while (await count('tasks', `completed_at < now() - interval '30 days'`)) tasks += (await removeEnded()).removed.tasks ?? 0;
      return tasks;
    });
    for (let made = 0; made < 20; made += 1) await aged.partsOf(daysAgo(0), await aged.task(daysAgo(0), home));
    expect((await Promise.all(removing)).reduce((sum, tasks) => sum + tasks, 0)).toBe(450);
    expect([await count('tasks'), await count('events'), await count('tool_calls')]).toEqual([20, 60, 20]);
  });
});

it('a batch that is interrupted has removed nothing, and the next one removes it', async () => {
  const task_id = await aged.task(daysAgo(40));
  await aged.partsOf(daysAgo(40), task_id);
  const before = await snapshot();
  const holder = new pg.Client(database.pool.options as pg.ClientConfig);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM events FOR UPDATE');
  const interrupted = removeEnded();
  interrupted.catch(() => {});
  const pid = await until('the batch waits for an event', async () => {
    const [waiting] = await found(
      `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return waiting?.pid;
  });
  await database.pool.query('SELECT pg_terminate_backend($1)', [pid]);
  await expect(interrupted).rejects.toThrow();
  await holder.query('ROLLBACK');
  await holder.end();
  expect(await snapshot()).toEqual(before);
  expect((await removeEnded()).removed).toMatchObject({ tasks: 1 });
  expect(await count('events')).toBe(0);
});

it('what is removed in batches is removed as a whole, however much there is', async () => {
  const MORE_THAN_A_BATCH = BATCH + 1;
  for (let made = 0; made < MORE_THAN_A_BATCH; made += 1) await aged.attachment(daysAgo(40), 'unused');
  await aged.sql(
    `INSERT INTO browser_sessions (hash, provider, subject, login, expires_at)
      SELECT sha256(n::text::bytea), 'p', 's', 'l', now() - interval '1 day' FROM generate_series(1, $1::int) n`,
    MORE_THAN_A_BATCH,
  );
  const removed = { attachments: MORE_THAN_A_BATCH, browser_sessions: MORE_THAN_A_BATCH };
  expect(await removeTransient()).toEqual({ removed, finished: true });
});

it('a pass ends in time, and the next one continues', async () => {
  for (let made = 0; made < 3; made += 1) await aged.tokenUse(daysAgo(40));
  const sweeps = store.retention.ended(daysAgo(30));
  expect(await sweep(sweeps, 0)).toEqual({ removed: {}, finished: false });
  expect(await sweep(sweeps, WITHIN_MS)).toEqual({ removed: { token_uses: 3 }, finished: true });
});
