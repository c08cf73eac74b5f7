import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toRunId } from '../../src/temporal/names.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ env: { TOOL_ISOLATION: 'none' } });
});
afterAll(() => here.stop());

const todo = (id = 'todo') => ({ name: 'manage_todo_list', args: { todoList: [] }, id });
const store = { name: 'store_memory', args: { key: 'answer', value: '42' }, id: 'memory' };
const add = { name: 'add', args: { a: 1, b: 2 }, id: 'add' };
const ADD = 'def add(a: int, b: int) -> int:\n    return a + b\n';
const workflow = (agent: object = {}) =>
  here.workflow({ agent: { builtin_tools: ['manage_todo_list', 'store_memory', 'search_memory'], ...agent }, tools: [ADD] });

const text = (data: Uint8Array | null | undefined) => JSON.parse(Buffer.from(data ?? []).toString());

const handleOf = (task_id: string) => here.driver.client.workflow.getHandle(toRunId(task_id));

/**
 * What the history of a run shows of its calls, sorted: activities that were scheduled, and calls that were made within a workflow task.
 * Next to it how often the run was indexed again.
 */
async function shownOf(task_id: string) {
  const { events } = await handleOf(task_id).fetchHistory();
  const all = events ?? [];
  const scheduled = all.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'callTool');
  const within = all.filter(({ markerRecordedEventAttributes: it }) => it?.details && it.markerName === 'core_local_activity');
  const summaries = (some: typeof all) =>
    some.flatMap(({ userMetadata }) => (userMetadata?.summary ? [text(userMetadata.summary.data)] : [])).sort();
  const indexed = all.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes);
  return { scheduled: summaries(scheduled), within: summaries(within), indexed: indexed.length };
}

/** Waits for the end of a task, and of its run, which is indexed after that. */
async function completed(task_id: string): Promise<void> {
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
  await handleOf(task_id).result();
}

async function ended(workflow_id: string): Promise<string> {
  const task_id = await here.prompt(workflow_id);
  await completed(task_id);
  return task_id;
}

describe('a round of brief calls', () => {
  it('is made within the workflow task and shown with its names', async () => {
    here.model.script(
      asks(todo(), { ...todo('second') }, store),
      asks({ name: 'search_memory', args: { query: 'x' } }),
      says('Done.'),
    );
    const calls = ['manage_todo_list (1-1)', 'manage_todo_list (1-2)', 'search_memory (2-1)', 'store_memory (1-3)'];
    expect(await shownOf(await ended(await workflow()))).toEqual({ scheduled: [], within: calls, indexed: 1 });
  });

  it('is on record and in the events as any call is', async () => {
    here.model.script(asks(todo(), store), says('Done.'));
    const task_id = await ended(await workflow());
    const steps = (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`))) as { tool_calls: object[] }[];
    const call = { status: 'done', attempts: 1, failed: false, started_at: expect.any(String), ended_at: expect.any(String) };
    expect(steps[0]?.tool_calls).toMatchObject([
      { ...call, name: 'manage_todo_list' },
      { ...call, name: 'store_memory' },
    ]);
    const { rows } = await here.core.database.pool.query(
      `SELECT data ->> 'call_id' AS call_id, coalesce(data ->> 'event', type) AS said FROM events
        WHERE task_id = $1 AND (data ? 'call_id' OR data ? 'todos') ORDER BY seq`,
      [task_id],
    );
    const saidOf = (id: string) => rows.filter(({ call_id }) => call_id === id).map(({ said }) => said);
    expect([saidOf('1-1'), saidOf('1-2')]).toEqual(Array(2).fill(['tool_call', 'tool_result', 'message']));
    expect(rows.filter(({ said }) => said === 'progress')).toHaveLength(1);
  });

  it('that has another call consists of activities', async () => {
    here.model.script(asks(todo(), add), says('Done.'));
    const calls = ['add (1-2)', 'manage_todo_list (1-1)'];
    expect(await shownOf(await ended(await workflow()))).toEqual({ scheduled: calls, within: [], indexed: 1 });
  });

  it('waits for a person without an activity', async () => {
    here.model.script(asks(todo()), says('Done.'));
    const task_id = await here.prompt(await workflow({ approval_tools: ['manage_todo_list'] }));
    await until('it waits', async () => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status === 'waiting');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    await completed(task_id);
    expect(await shownOf(task_id)).toEqual({ scheduled: [], within: Array(2).fill('manage_todo_list (1-1)'), indexed: 3 });
  });
});

describe('a brief call that waits for the database', () => {
  let holder: pg.Client;
  beforeEach(async () => {
    holder = new pg.Client(here.setting.database_url);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE memories IN SHARE MODE');
  });
  afterEach(() => holder.end());

  it('becomes an activity', async () => {
    here.model.script(asks(store), says('Done.'));
    const task_id = await here.prompt(await workflow());
    await until('an activity', async () => (await shownOf(task_id)).scheduled.length > 0);
    await holder.query('ROLLBACK');
    await completed(task_id);
    const calls = ['store_memory (1-1)'];
    expect(await shownOf(task_id)).toEqual({ scheduled: calls, within: calls, indexed: 1 });
  });

  it('is halted while it does not get on', async () => {
    here.model.script(asks(store));
    const task_id = await here.prompt(await workflow());
    await until('the call has begun', async () => (await here.core.store.ledger.open(task_id, '1-1'))?.status === 'started');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    await holder.query('ROLLBACK');
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
  });
});
