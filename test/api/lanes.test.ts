import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Definition } from '../../src/domain/definition.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import type { Database } from '../../src/store/database/database.ts';
import { createStore } from '../../src/store/index.ts';
import type { NewTask } from '../../src/store/runs/new-task.ts';
import { runStore } from '../../src/store/runs/runs.ts';
import { type CreatedTask, taskStore } from '../../src/store/runs/tasks.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { openTestDatabase } from '../support/database/database.ts';
import { until } from '../support/until.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const OWNER = { owner: 'local:alice', owner_login: 'alice' };

type Asked = Partial<Pick<NewTask, 'claim' | 'on_busy' | 'place'>> & { most_open?: number };

/** A workflow, and a way to accept tasks of it as an API process does. */
async function lane() {
  const { prisma, pool } = database;
  const [agent_id, workflow_id] = [randomUUID(), randomUUID()];
  await prisma.agent.create({ data: { id: agent_id, name: agent_id, created_by: 'local:alice' } });
  await prisma.workflow.create({ data: { id: workflow_id, agent_id, ...OWNER } });
  const keys = keyRing(`k:${randomBytes(32).toString('base64')}`);
  const tasks = taskStore({ pool, prisma, keys });
  const agent = { id: agent_id, name: 'a', system_prompt: '' };
  const none = { completed: null, error: null };
  const definition = { agent, workflow: { id: workflow_id, title: null }, model: null, webhooks: none } as Definition;
  const base = { workflow_id, ...OWNER, prompt: 'x', definition, trigger: 'prompt', caller_token: null };
  const toTask = (task_id: string, { on_busy = 'enqueue', ...asked }: Asked): NewTask => ({
    ...base,
    task_id,
    on_busy,
    ...asked,
  });
  const write = (task_id: string, { most_open, ...asked }: Asked = {}) => tasks.create(toTask(task_id, asked), most_open);
  /** Accepts a task within the transaction of a connection. */
  const writeOn = (client: unknown, task_id: string, asked: Asked) =>
    taskStore({ pool: client as Database['pool'], prisma, keys }).create(toTask(task_id, asked));
  const accept = async (task_id: string, on_busy?: string) => (await write(task_id, { on_busy })) as CreatedTask | null;
  return { workflow_id, write, writeOn, accept, tasks };
}

/** A thread with a first turn, and a way to accept turns of it. */
async function thread() {
  const made = await lane();
  const first = randomUUID();
  await made.write(first, { place: { thread_id: first, is_new: true } });
  const say = async (task_id: string, on_busy?: string) =>
    (await made.write(task_id, { on_busy, place: { thread_id: first } })) as CreatedTask | null;
  return { ...made, first, say };
}

const threadOf = (id: string) => database.prisma.thread.findUnique({ where: { id } });
/** The turns of a thread as their ids, in the order of their numbers. */
const turnsOf = (thread_id: string) =>
  database.prisma.task.findMany({
    where: { thread_id },
    select: { id: true, previous_task_id: true, thread_turn: true },
    orderBy: { thread_turn: 'asc' },
  });

const rowOf = (id: string) => database.prisma.workflow.findUniqueOrThrow({ where: { id } });

/** Ends the task that holds the lane until none is left; the tasks in the order in which they held it. */
async function ran(workflow_id: string, first: string): Promise<string[]> {
  const order: string[] = [];
  for (let holder: string | null = first; holder; ) {
    order.push(holder);
    holder = (await runStore(database.pool).settle(holder, { status: 'completed', error: null, error_code: null, events: [] }))
      .next;
  }
  expect((await rowOf(workflow_id)).active_task_id).toBe(null);
  return order;
}

/** The order in which tasks were accepted: the order of their first events, which are numbered in the same transaction. */
async function accepted(workflow_id: string): Promise<string[]> {
  const events = await database.prisma.event.findMany({ where: { workflow_id, type: 'log' }, orderBy: { seq: 'asc' } });
  return events.map(({ task_id }) => task_id!);
}

/** Ids of the same millisecond, in descending order: two processes make such ones, and a repeated request brings an older one. */
const ids = (count: number) =>
  Array.from({ length: count }, (_, index) => `0197a0c4-6b1e-7c3a-9f57-${String(1_000 - index).padStart(12, '0')}`);

it('runs the tasks of a lane in the order in which they were accepted, whatever their ids', async () => {
  const { workflow_id, accept } = await lane();
  const order = ids(20);
  for (const id of order) await accept(id);
  expect(await ran(workflow_id, order[0]!)).toEqual(order);
});

it('writes nothing for an owner who has enough tasks, and answers the repetition of an accepted one', async () => {
  const { workflow_id, write, accept, tasks } = await lane();
  const [first, second] = [randomUUID(), randomUUID()];
  const accepted = await accept(first);
  expect(await write(second, { most_open: 1 })).toBe('full');
  expect(await write(first, { most_open: 1 })).toEqual(accepted);
  expect(await tasks.listOpenIds(workflow_id)).toEqual([first]);
});

it('does so for tasks that several clients send at the same time', async () => {
  const { workflow_id, accept } = await lane();
  const created = await Promise.all(Array.from({ length: 60 }, () => accept(randomUUID())));
  expect(await ran(workflow_id, created[0]!.holder)).toEqual(await accepted(workflow_id));
});

it('lets the newest that interrupts go first and no older one, also when one is withdrawn', async () => {
  const { workflow_id, accept, tasks } = await lane();
  const [holder, first, second, urgent, withdrawn, more] = ids(50).slice(30) as [string, string, string, string, string, string];
  for (const id of [holder, first, second]) await accept(id);
  for (const id of [urgent, more, withdrawn]) await accept(id, 'interrupt');
  await tasks.discard(withdrawn);
  expect(await ran(workflow_id, holder)).toEqual([holder, more, first, second]);
});

it('runs the tasks first that a server of the release before accepted, which gives them no number', async () => {
  const { workflow_id, accept } = await lane();
  const [holder, late, early] = ids(80).slice(60) as [string, string, string];
  for (const id of [holder, late, early]) await accept(id);
  await database.pool.query('UPDATE tasks SET lane_number = NULL WHERE id = $1', [early]);
  expect(await ran(workflow_id, holder)).toEqual([holder, early, late]);
});

describe('a task whose request another try has claimed', () => {
  const claimed = async (id: string, claims: number) => {
    const key = { principal: 'ada', key: id, request_hash: 'x', reserved_id: id, claims };
    await database.prisma.idempotencyKey.create({ data: key });
  };

  it('is not written: that try may have been refused, or accepted', async () => {
    const { workflow_id, write } = await lane();
    const id = randomUUID();
    await claimed(id, 2);
    await expect(write(id, { claim: 1 })).rejects.toMatchObject({ code: 'idempotency_key_busy' });
    expect(await accepted(workflow_id)).toEqual([]);
    expect(await write(id, { claim: 2 })).toMatchObject({ task_id: id });
    // The repetition's task is that of the first try as well.
    expect(await write(id, { claim: 1 })).toMatchObject({ task_id: id });
  });

  it('is not written if that try claims it while it is being written', async () => {
    const { workflow_id, write } = await lane();
    const id = randomUUID();
    await claimed(id, 1);
    const other = await database.pool.connect();
    await other.query('BEGIN');
    await other.query('UPDATE idempotency_keys SET claims = 2 WHERE key = $1', [id]);
    const writing = write(id, { claim: 1 }).catch((error: unknown) => error);
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'WITH given%' AND datname = current_database()`;
    try {
      await until('it waits for the key', async () => (await database.pool.query(waits)).rowCount);
    } finally {
      await other.query('COMMIT');
      other.release();
    }
    expect(await writing).toMatchObject({ code: 'idempotency_key_busy' });
    expect(await accepted(workflow_id)).toEqual([]);
  });
});

describe('a task that is withdrawn', () => {
  it('leaves its workflow as if it had not been asked for', async () => {
    const { workflow_id, accept, tasks } = await lane();
    const [kept, withdrawn] = ids(90).slice(80) as [string, string];
    await accept(kept);
    await accept(withdrawn);
    expect(await tasks.discard(withdrawn)).toBe(kept);
    expect(await accepted(workflow_id)).toEqual([kept]);
    expect(await rowOf(workflow_id)).toMatchObject({ task_count: 1, last_task_id: kept, active_task_id: kept });
  });

  it('stays if its request was repeated: the repetition may have been accepted', async () => {
    const { workflow_id, accept, tasks } = await lane();
    const [again] = ids(93).slice(92) as [string];
    await accept(again);
    const key = { principal: 'ada', key: again, request_hash: 'x', reserved_id: again, claims: 2 };
    await database.prisma.idempotencyKey.create({ data: key });
    expect(await tasks.discard(again, 1)).toBeNull();
    expect(await accepted(workflow_id)).toEqual([again]);
    // A try that stood still for so long that its repetition has a reply.
    const where = { principal_key: { principal: 'ada', key: again } };
    await database.prisma.idempotencyKey.update({ where, data: { reply: { accepted: true } } });
    expect(await tasks.discard(again, 2)).toBeNull();
    expect(await accepted(workflow_id)).toEqual([again]);
    await database.prisma.idempotencyKey.update({ where, data: { reply: Prisma.DbNull } });
    await tasks.discard(again, 2);
    expect(await accepted(workflow_id)).toEqual([]);
  });

  it('stays if its request is repeated while it waits for the lane', async () => {
    const { workflow_id, accept, tasks } = await lane();
    const [again] = ids(94).slice(93) as [string];
    await accept(again);
    const other = await database.pool.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM workflows WHERE id = $1 FOR UPDATE', [workflow_id]);
    const discarding = tasks.discard(again, 1);
    const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%discard_task%' AND datname = current_database()`;
    await until('it waits for the lane', async () => (await database.pool.query(waits)).rowCount);
    const key = { principal: 'ada', key: again, request_hash: 'x', reserved_id: again, claims: 2 };
    await database.prisma.idempotencyKey.create({ data: key });
    await other.query('COMMIT');
    other.release();
    expect(await discarding).toBeNull();
    expect(await accepted(workflow_id)).toEqual([again]);
  });

  it('is not one that has begun', async () => {
    const { workflow_id, accept, tasks } = await lane();
    const [begun] = ids(92).slice(91) as [string];
    await accept(begun);
    await database.prisma.task.update({ where: { id: begun }, data: { status: 'running' } });
    expect(await tasks.discard(begun)).toBeNull();
    expect(await accepted(workflow_id)).toEqual([begun]);
    expect(await rowOf(workflow_id)).toMatchObject({ task_count: 1, active_task_id: begun });
  });
});

describe('a lane whose holder ended without passing it on', () => {
  it.each(['completed', 'failed', 'halted'])('goes to the next task: the holder %s', async (status) => {
    const { workflow_id, accept, tasks } = await lane();
    const [holder, next] = [randomUUID(), randomUUID()];
    await accept(holder);
    await accept(next);
    await database.prisma.task.update({ where: { id: holder }, data: { status } });
    await tasks.settleLanes();
    expect(await rowOf(workflow_id)).toMatchObject({ active_task_id: next, status: 'running' });
  });

  it.each(['pending', 'running', 'waiting'])('stays with a holder that is %s', async (status) => {
    const { workflow_id, accept, tasks } = await lane();
    const holder = randomUUID();
    await accept(holder);
    await accept(randomUUID());
    await database.prisma.task.update({ where: { id: holder }, data: { status } });
    await tasks.settleLanes();
    expect(await rowOf(workflow_id)).toMatchObject({ active_task_id: holder });
  });
});

it('keeps a workflow inactive that was paused while its tasks ran', async () => {
  const { workflow_id, accept } = await lane();
  const [first, second] = [randomUUID(), randomUUID()];
  await accept(first);
  await accept(second);
  await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'inactive' } });
  expect(await ran(workflow_id, first)).toEqual([first]);
  expect(await rowOf(workflow_id)).toMatchObject({ status: 'inactive', last_task_status: 'pending' });
});

describe('the lane of a thread', () => {
  it('runs its turns one after another, each after the one before it, also when several clients send them at the same time', async () => {
    const { workflow_id, first, say } = await thread();
    await Promise.all(Array.from({ length: 40 }, () => say(randomUUID())));
    const turns = await turnsOf(first);
    expect(turns.map(({ thread_turn }) => thread_turn)).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
    const order = turns.map(({ id }) => id);
    expect(turns.map(({ previous_task_id }) => previous_task_id)).toEqual([null, ...order.slice(0, -1)]);
    expect(await ran(workflow_id, first)).toEqual(order);
    expect(await threadOf(first)).toMatchObject({ active_task_id: null, head_task_id: order.at(-1) });
  });

  it('waits neither for another thread of its workflow, nor for prompts outside of threads', async () => {
    const { workflow_id, first, write, accept, say } = await thread();
    const [next, outside, other] = [randomUUID(), randomUUID(), randomUUID()];
    const holders = [await accept(outside), await write(other, { place: { thread_id: other, is_new: true } }), await say(next)];
    expect(holders.map((one) => (one as CreatedTask).holder)).toEqual([outside, other, first]);
    expect(await rowOf(workflow_id)).toMatchObject({ active_task_id: outside, task_count: 4 });
  });

  it('lets its newest turn that interrupts go first and no older one, also when one is withdrawn', async () => {
    const { workflow_id, first, say, tasks } = await thread();
    const [waiting, urgent, more, withdrawn] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    await say(waiting);
    for (const id of [urgent, more, withdrawn]) await say(id, 'interrupt');
    await tasks.discard(withdrawn);
    expect(await ran(workflow_id, first)).toEqual([first, more, waiting]);
  });

  it('is without a turn that is withdrawn: the next one follows the one before', async () => {
    const { first, say, tasks } = await thread();
    const [withdrawn, next] = [randomUUID(), randomUUID()];
    await say(withdrawn);
    await say(next);
    expect(await tasks.discard(withdrawn)).toBe(first);
    expect(await turnsOf(first)).toEqual([
      { id: first, previous_task_id: null, thread_turn: 1 },
      { id: next, previous_task_id: first, thread_turn: 2 },
    ]);
    expect(await tasks.discard(next)).toBe(first);
    expect(await threadOf(first)).toMatchObject({ head_task_id: first, active_task_id: first });
  });

  it('goes with its first turn if that is withdrawn, which may be sent again', async () => {
    const { first, write, tasks } = await thread();
    expect(await tasks.discard(first)).toBeNull();
    expect(await threadOf(first)).toBeNull();
    await write(first, { place: { thread_id: first, is_new: true } });
    expect(await threadOf(first)).toMatchObject({ active_task_id: first, accepted_tasks: 1 });
  });

  it('stays if its first turn is withdrawn and another one waits', async () => {
    const { first, say, tasks } = await thread();
    const next = randomUUID();
    await say(next);
    expect(await tasks.discard(first)).toBe(next);
    expect(await turnsOf(first)).toEqual([{ id: next, previous_task_id: null, thread_turn: 1 }]);
    expect(await threadOf(first)).toMatchObject({ active_task_id: next, head_task_id: next });
  });

  it.each(['completed', 'failed', 'halted'])('goes to the next turn: the holder %s without passing it on', async (status) => {
    const { first, say, tasks } = await thread();
    const next = randomUUID();
    await say(next);
    await database.prisma.task.update({ where: { id: first }, data: { status } });
    await tasks.settleLanes();
    expect(await threadOf(first)).toMatchObject({ active_task_id: next });
  });

  it.each(['pending', 'running', 'waiting'])('stays with a holder that is %s', async (status) => {
    const { first, say, tasks } = await thread();
    await say(randomUUID());
    await database.prisma.task.update({ where: { id: first }, data: { status } });
    await tasks.settleLanes();
    expect(await threadOf(first)).toMatchObject({ active_task_id: first });
  });

  it('stands still while its workflow is switched off, and continues afterwards', async () => {
    const { workflow_id, first, say, accept, tasks } = await thread();
    const [next, outside] = [randomUUID(), randomUUID()];
    await say(next);
    await accept(outside);
    const switchTo = (status: string, active_task_id: string | null) =>
      database.prisma.workflow.update({ where: { id: workflow_id }, data: { status, active_task_id } });
    await switchTo('inactive', null);
    const ended = { status: 'completed' as const, error: null, error_code: null, events: [] };
    expect((await runStore(database.pool).settle(first, ended)).next).toBeNull();
    expect(await tasks.takeLanes(workflow_id)).toEqual([]);
    await switchTo('active', null);
    expect((await tasks.takeLanes(workflow_id)).toSorted()).toEqual([next, outside].toSorted());
    expect(await threadOf(first)).toMatchObject({ active_task_id: next });
  });

  it('keeps its workflow from being deleted, also while its first turn is being accepted', async () => {
    const { workflow_id, accept, writeOn } = await lane();
    const keys = keyRing(`k:${randomBytes(32).toString('base64')}`);
    const { workflows } = createStore({ database, keys });
    const connection = await database.pool.connect();
    try {
      await connection.query('BEGIN');
      const first = randomUUID();
      await writeOn(connection, first, { place: { thread_id: first, is_new: true } });
      const removed = workflows.remove(workflow_id).catch(({ code }) => code);
      await until('the deletion waits', async () => (await countWaiting()) === 1);
      await connection.query('COMMIT');
      expect(await removed).toBe('workflow_running');
      expect(await threadOf(first)).toMatchObject({ active_task_id: first });
      expect(await accept(randomUUID())).not.toBeNull();
    } finally {
      connection.release(true);
    }
  });
});

const countWaiting = async () =>
  (await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
    .rowCount;
