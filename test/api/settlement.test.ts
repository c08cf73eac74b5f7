import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NOT_CALLED, OUTCOME_UNKNOWN } from '../../src/domain/transcript.ts';
import type { Database } from '../../src/store/database/database.ts';
import { type RunStore, runStore } from '../../src/store/runs/runs.ts';
import { finishActivity } from '../../src/temporal/activities/finish.ts';
import { settler } from '../../src/temporal/start/settle.ts';
import { openTestDatabase } from '../support/database/database.ts';
import { until } from '../support/until.ts';

type Settlement = Parameters<RunStore['settle']>[1];

let database: Database;
const agent_id = randomUUID();

beforeAll(async () => {
  database = await openTestDatabase();
  await database.prisma.agent.create({ data: { id: agent_id, name: 'a', created_by: 'local:alice' } });
  const webhooks = { completed: 'http://completed.example', error: 'http://error.example' };
  await database.prisma.definition.create({ data: { hash: 'with_webhooks', body: { webhooks } } });
  await database.prisma.definition.create({
    data: { hash: 'no_webhooks', body: { webhooks: { completed: null, error: null } } },
  });
});
afterAll(() => database.close());

/** A run in progress: it has streamed text, one of its calls has begun and the other has not. */
async function running(definition_hash = 'with_webhooks', response?: object): Promise<string> {
  const { prisma, pool } = database;
  const who = { owner: 'local:alice', owner_login: 'alice' };
  const workflow = await prisma.workflow.create({
    data: { id: randomUUID(), title: 'Daily', agent_id, status: 'running', ...who },
  });
  const usage = { total_in: 11, total_out: 7, cache_read: 5, cache_write: 3, premium_requests: 1, cost: 0.25 };
  const more = { agent_id, agent_name: 'a', workflow_title: 'Daily', cursor: { large: true }, toolset: [{ large: true }] };
  const { id: task_id } = await prisma.task.create({
    data: {
      ...{
        id: randomUUID(),
        workflow_id: workflow.id,
        definition_hash,
        prompt: 'How is “it”?',
        status: 'running',
        ...who,
        ...usage,
        ...more,
      },
      ...{ started_at: new Date(Date.now() - 61_500), ...(response ? { response } : {}) },
    },
  });
  await prisma.workflow.update({ where: { id: workflow.id }, data: { active_task_id: task_id, last_task_id: task_id } });
  await prisma.taskStep.create({ data: { task_id, step: 1, attempts: 1, ended_at: new Date() } });
  await prisma.taskStep.create({ data: { task_id, step: 2, attempts: 1 } });
  for (const [position, status] of ['started', 'planned'].entries()) {
    const call = { task_id, call_id: `1-${position}`, step: 1, position, name: 'tool', arguments: '{}', effect: 'write' };
    await prisma.toolCall.create({ data: { ...call, status, approval: false } });
  }
  const delta = { type: 'message_delta', data: { delta: 'Well' }, timestamp: new Date().toISOString() };
  await pool.query('SELECT append_events($1, $2, $3)', [workflow.id, task_id, JSON.stringify([delta])]);
  return task_id;
}

const ENDS: Settlement[] = [
  { status: 'completed', error: null, error_code: null, events: [] },
  { status: 'failed', error: "It's over", error_code: 'run_lost', events: [] },
  { status: 'halted', error: null, error_code: null, events: [] },
];
const settle = (task_id: string, end: Settlement) => runStore(database.pool).settle(task_id, end);

/** Several ends of a task, each of which has begun before any of them can lock its workflow. */
async function atOnce(task_id: string, ends: Settlement[]) {
  const blocker = await database.pool.connect();
  await blocker.query('BEGIN');
  await blocker.query('SELECT 1 FROM workflows WHERE active_task_id = $1 FOR NO KEY UPDATE', [task_id]);
  const settled = Promise.all(ends.map((end) => settle(task_id, end)));
  await until('all wait', async () => {
    const { rows } = await database.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length === ends.length;
  });
  await blocker.query('COMMIT');
  blocker.release();
  return settled;
}

/** What the end of a task left, without what differs from task to task. */
async function leftBy(task_id: string) {
  const { prisma } = database;
  const where = { where: { task_id } };
  const task = await prisma.task.findUniqueOrThrow({ where: { id: task_id } });
  const { workflow_id, completed_at, started_at } = task;
  const same = (value: object) =>
    JSON.parse(JSON.stringify(value).replaceAll(task_id, 'task').replaceAll(workflow_id, 'workflow'));
  const deliveries = await prisma.webhookDelivery.findMany(where);
  const seconds = (completed_at!.getTime() - started_at!.getTime()) / 1000;
  for (const { payload } of deliveries)
    expect(payload).toMatchObject({ timestamp: completed_at?.toISOString(), elapsed_seconds: expect.closeTo(seconds, 2) });
  return {
    deliveries: deliveries.map(({ url, status, payload }) =>
      same({ url, status, payload: { ...(payload as object), timestamp: '', elapsed_seconds: 0 } }),
    ),
    messages: (await prisma.taskMessage.findMany({ ...where, orderBy: [{ step: 'asc' }, { position: 'asc' }] })).map(
      ({ step, position, kind, content }) => ({ step, position, kind, content }),
    ),
    events: (await prisma.event.findMany({ ...where, orderBy: { seq: 'asc' } })).map(({ type, data }) =>
      same({ type, data: data! }),
    ),
    task: same({ ...task, created_at: 0, started_at: 0, completed_at: 0 }),
  };
}

describe('the end of a task', () => {
  for (const end of ENDS)
    for (const [what, response] of [
      ['nothing', undefined],
      ['an answer', { text: 'All is well' }],
    ] as const)
      it(`that is ${end.status} and had returned ${what} leaves one delivery with the task as it ended`, async () => {
        const task_id = await running('with_webhooks', response);
        const { webhook } = await settle(task_id, end);
        const { deliveries, task } = await leftBy(task_id);
        const { status, error, error_code } = end;
        expect(task).toMatchObject({ status, error, error_code, caller_token: null });
        const said = end.status === 'halted' && !response ? 'Well' : (response ?? null);
        expect(deliveries).toMatchObject([
          {
            url: end.status === 'completed' ? 'http://completed.example' : 'http://error.example',
            status: 'pending',
            payload: {
              ...{ task_id: 'task', workflow_id: 'workflow', workflow_title: 'Daily', prompt: 'How is “it”?' },
              ...{ response: said, status, error, error_code },
              usage: { total_in: 11, total_out: 7, cost: 0.25, cache_read: 5, cache_write: 3, premium_requests: 1 },
            },
          },
        ]);
        expect(await database.prisma.webhookDelivery.findMany({ where: { task_id } })).toMatchObject([{ id: webhook }]);
      });

  it('answers the open calls with the texts that the caller passed', async () => {
    const task_id = await running();
    await settle(task_id, ENDS[1]!);
    const results = (await leftBy(task_id)).messages.filter(({ step }) => step === 1);
    expect(results.map(({ content }) => content)).toEqual([OUTCOME_UNKNOWN, NOT_CALLED]);
  });

  it.each([
    ['was not begun', {}, {}, NOT_CALLED],
    ['was begun', { status: 'started' }, {}, OUTCOME_UNKNOWN],
    ['waits for approval', { status: 'waiting_approval' }, {}, NOT_CALLED],
    ['waits for its outcome', { status: 'waiting_reconciliation' }, {}, OUTCOME_UNKNOWN],
    ['waits for an answer of a person', { status: 'waiting_answer' }, {}, OUTCOME_UNKNOWN],
    ['is to be made again after it may have run', { may_have_run: true }, {}, OUTCOME_UNKNOWN],
    ['was not begun in a run that was restored', {}, { restored_at: new Date() }, OUTCOME_UNKNOWN],
    ['was not begun in a run whose record is behind', {}, { record_behind: 'step 2' }, OUTCOME_UNKNOWN],
  ])('says only what is known of a call that %s', async (_, call, task, text) => {
    const task_id = await running();
    await database.prisma.toolCall.updateMany({ where: { task_id, call_id: '1-1' }, data: call });
    await database.prisma.task.update({ where: { id: task_id }, data: task });
    await settle(task_id, ENDS[2]!);
    expect((await leftBy(task_id)).messages.find(({ position }) => position === 1)?.content).toBe(text);
  });

  it('is refused if the final answer must be on record and is not', async () => {
    const [task_id, answered] = [await running(), await running('with_webhooks', { text: 'All is well' })];
    expect(await settle(task_id, { ...ENDS[0]!, needs_answer: true })).toMatchObject({ unanswered: true, next: null });
    expect(await database.prisma.task.findUnique({ where: { id: task_id } })).toMatchObject({ status: 'running' });
    expect(await settle(answered, { ...ENDS[0]!, needs_answer: true })).toMatchObject({ definition_hash: 'with_webhooks' });
    expect(await database.prisma.task.findUnique({ where: { id: answered } })).toMatchObject({ status: 'completed' });
  });

  it('is not written by a run whose task seemed to have ended', async () => {
    const task_id = await running();
    const runs = runStore(database.pool);
    const finish = finishActivity({
      settle: settler({ runs, now: () => new Date().toISOString() }),
      ...{
        doubtCalls: async () => {},
        parkEnd: async () => {},
        halt() {},
        workspaces: { remove: async () => {} },
        startHandedOver: async () => {},
        endSession: async () => {},
      },
    });
    await finish(task_id, { status: 'failed', error: 'The task has ended', error_code: 'task_ended', turns: 0 });
    expect(await database.prisma.task.findUnique({ where: { id: task_id } })).toMatchObject({ status: 'running' });
    await finish(task_id, { status: 'failed', error: 'Too bad', error_code: 'internal', turns: 0 });
    expect(await database.prisma.task.findUnique({ where: { id: task_id } })).toMatchObject({ status: 'failed' });
  });

  it('opens one delivery and returns it to everyone who ends the task, at the same time or again', async () => {
    const task_id = await running();
    const ends = await atOnce(task_id, [ENDS[0]!, ENDS[2]!]);
    const again = await settle(task_id, ENDS[1]!);
    expect((await leftBy(task_id)).deliveries).toHaveLength(1);
    expect(again.webhook).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(ends.map(({ webhook }) => webhook)).toEqual([again.webhook, again.webhook]);
  });

  it('returns no delivery that has been made', async () => {
    const task_id = await running();
    const { webhook } = await settle(task_id, ENDS[0]!);
    await database.prisma.webhookDelivery.update({ where: { id: webhook! }, data: { status: 'delivered' } });
    expect((await settle(task_id, ENDS[0]!)).webhook).toBeNull();
  });

  it('opens none when the workflow has no webhook, and none when the task is gone', async () => {
    const task_id = await running('no_webhooks');
    const none = { next: null, webhook: null };
    expect(await settle(task_id, ENDS[0]!)).toEqual({ ...none, definition_hash: 'no_webhooks', ended: expect.any(Object) });
    expect((await leftBy(task_id)).deliveries).toEqual([]);
    expect(await settle(randomUUID(), ENDS[0]!)).toEqual({ ...none, definition_hash: null, ended: null });
  });

  it('is reported once, so that the run is counted once', async () => {
    const task_id = await running();
    const [first, second] = await atOnce(task_id, [ENDS[0]!, ENDS[2]!]);
    const again = await settle(task_id, ENDS[1]!);
    const reported = [first, second, again].flatMap((settled) => settled?.ended ?? []);
    expect(reported).toEqual([{ trigger: 'prompt', seconds: expect.any(Number) }]);
  });
});

describe('what a halted run had said', () => {
  const said = async (task_id: string, events: [type: string, data: object][]) => {
    const { workflow_id } = await database.prisma.task.findUniqueOrThrow({ where: { id: task_id } });
    const timestamp = new Date().toISOString();
    const written = JSON.stringify(events.map(([type, data]) => ({ type, data, timestamp })));
    await database.pool.query('SELECT append_events($1, $2, $3)', [workflow_id, task_id, written]);
  };
  const kept = async (task_id: string) => {
    await settle(task_id, ENDS[2]!);
    const { task, messages } = await leftBy(task_id);
    return { response: task.response, partial: messages.filter(({ kind }) => kind === 'partial').map(({ content }) => content) };
  };

  it('is the text of its last attempt alone, in the order in which it was said', async () => {
    const task_id = await running();
    await said(task_id, [
      ['log', { event: 'attempt_reset' }],
      ['message_delta', { delta: 'So ' }],
      ['message_delta', { delta: 'far' }],
    ]);
    expect(await kept(task_id)).toEqual({ response: 'So far', partial: ['So far'] });
  });

  it('is the text since its last reply', async () => {
    const task_id = await running();
    await said(task_id, [
      ['message', { role: 'assistant', content: 'Well' }],
      ['message', { role: 'tool', content: 'done' }],
      ['message_delta', { delta: 'Next' }],
    ]);
    expect(await kept(task_id)).toEqual({ response: 'Next', partial: ['Next'] });
  });

  it('is its last reply if it was saying nothing', async () => {
    const task_id = await running();
    await said(task_id, [['message', { role: 'assistant', content: 'Well' }]]);
    for (const [step, content] of ['First', 'Second', ''].entries())
      await database.prisma.taskMessage.create({
        data: { task_id, step: step + 1, position: 9, role: 'assistant', kind: 'reply', content },
      });
    expect(await kept(task_id)).toEqual({ response: 'Second', partial: [] });
  });
});
