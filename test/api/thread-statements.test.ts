import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Definition } from '../../src/domain/definition.ts';
import type { Database } from '../../src/store/database/database.ts';
import { continuityStore } from '../../src/store/runs/continuity.ts';
import type { Seed } from '../../src/store/runs/forks.ts';
import type { NewTask } from '../../src/store/runs/new-task.ts';
import { runStore } from '../../src/store/runs/runs.ts';
import { type CreatedTask, taskStore } from '../../src/store/runs/tasks.ts';
import { threadStore } from '../../src/store/runs/threads.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { openTestDatabase } from '../support/database/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const OWNER = { owner: 'local:alice', owner_login: 'alice' };

interface Asked {
  thread_id?: string;
  on_busy?: string;
  id?: string;
}

interface AskedFork {
  thread_id: string;
  source: { id: string; follows: { task_id: string; turn: number } };
}

/** A workflow with threads, and ways to accept their turns and its other tasks as an API process does. */
async function conversations() {
  const { prisma, pool } = database;
  const [agent_id, workflow_id] = [randomUUID(), randomUUID()];
  await prisma.agent.create({ data: { id: agent_id, name: agent_id, created_by: 'local:alice' } });
  await prisma.workflow.create({ data: { id: workflow_id, agent_id, remember: 'thread', ...OWNER } });
  const tasks = taskStore({ pool, prisma, keys: keyRing(`k:${randomBytes(32).toString('base64')}`) });
  const agent = { id: agent_id, name: 'a', system_prompt: '' };
  const definition = {
    ...{ agent, workflow: { id: workflow_id, title: null }, model: null, webhooks: { completed: null, error: null } },
  } as Definition;
  const base = { workflow_id, ...OWNER, prompt: 'x', definition, trigger: 'prompt', caller_token: null };
  const write = (task: Pick<NewTask, 'task_id' | 'place' | 'seed'>, on_busy = 'enqueue') =>
    tasks.create({ ...base, ...task, on_busy }) as Promise<CreatedTask | null>;
  return {
    workflow_id,
    tasks,
    /** Accepts the first turn of a new thread, which has its id. */
    begin: async ({ on_busy, id = randomUUID() }: Asked = {}) => {
      await write({ task_id: id, place: { thread_id: id, is_new: true } }, on_busy);
      return id;
    },
    turn: async ({ thread_id = null as never, on_busy, id = randomUUID() }: Asked) => {
      const created = await write({ task_id: id, place: { thread_id } }, on_busy);
      return created && id;
    },
    /** Accepts a fork of a turn at its first step, with another prompt, as a turn next to it. */
    fork: async ({ thread_id, source }: AskedFork) => {
      const id = randomUUID();
      const seed = { task_id: source.id, step: 1, effects: 'live', definition_hash: null, changes: [], turns: 0, is_copy: false };
      const more = { message: null, edits: [], keeps_extra: true };
      await write({ task_id: id, place: { thread_id, follows: source.follows }, seed: { ...seed, ...more } as Seed });
      return id;
    },
    /** Accepts a task that belongs to no thread. */
    alone: async ({ on_busy, id = randomUUID() }: Asked = {}) => (await write({ task_id: id }, on_busy)) && id,
  };
}

const end = async (id: string) =>
  (await runStore(database.pool).settle(id, { status: 'completed', error: null, error_code: null, events: [] })).next;

const threadOf = (id: string) => database.prisma.thread.findUnique({ where: { id } });
const workflowOf = (id: string) => database.prisma.workflow.findUniqueOrThrow({ where: { id } });

/** The turns of a thread as they are linked: each with its number and the one before it. */
async function chainOf(thread_id: string) {
  const turns = await database.prisma.task.findMany({
    where: { thread_id },
    orderBy: [{ thread_turn: 'asc' }, { lane_number: 'asc' }],
  });
  return turns.map(({ id, thread_turn, previous_task_id }) => [thread_turn, id, previous_task_id]);
}

/** Ends the turn that holds a thread until none is left; the turns in the order in which they held it. */
async function ran(thread_id: string): Promise<string[]> {
  const order: string[] = [];
  for (let holder = (await threadOf(thread_id))!.active_task_id; holder; holder = await end(holder)) order.push(holder);
  expect(await threadOf(thread_id)).toMatchObject({ active_task_id: null });
  return order;
}

const begun = async (id: string) => database.prisma.task.update({ where: { id }, data: { status: 'running' } });

describe('the turns of a thread', () => {
  it('are one chain, in the order in which they were accepted, when 20 clients send them at the same time', async () => {
    const { begin, turn } = await conversations();
    const thread_id = await begin();
    await Promise.all(Array.from({ length: 20 }, () => turn({ thread_id })));
    const events = await database.pool.query(
      `SELECT task_id FROM events WHERE type = 'log' AND task_id IN (SELECT id FROM tasks WHERE thread_id = $1) ORDER BY seq`,
      [thread_id],
    );
    const accepted: string[] = events.rows.map(({ task_id }) => task_id);
    expect(accepted).toHaveLength(21);
    expect(await chainOf(thread_id)).toEqual(accepted.map((id, index) => [index + 1, id, accepted[index - 1] ?? null]));
    expect(await threadOf(thread_id)).toMatchObject({ head_task_id: accepted.at(-1), accepted_tasks: 21 });
    expect(await ran(thread_id)).toEqual(accepted);
  });

  it('run one at a time, next to those of another thread and to a task without a thread', async () => {
    const { begin, turn, alone, workflow_id } = await conversations();
    const [first, other] = [await begin(), await begin()];
    const second = await turn({ thread_id: first });
    const [single, behind] = [await alone(), await alone()];
    expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: single, status: 'running', task_count: 5 });
    expect(await end(other)).toBeNull();
    expect(await end(first)).toBe(second);
    expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: single, status: 'running' });
    expect(await end(single!)).toBe(behind);
    expect(await end(behind!)).toBeNull();
    expect(await threadOf(first)).toMatchObject({ active_task_id: second });
    expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: null, status: 'completed' });
  });

  it('do not show in the state of their workflow, which its other runs determine', async () => {
    const { begin, workflow_id } = await conversations();
    const id = await begin();
    expect(await workflowOf(workflow_id)).toMatchObject({
      active_task_id: null,
      status: 'active',
      last_task_id: id,
      task_count: 1,
    });
    await end(id);
    expect(await workflowOf(workflow_id)).toMatchObject({
      active_task_id: null,
      status: 'active',
      last_task_status: 'completed',
    });
  });

  it('are refused with reject while one is in progress there, whatever runs elsewhere', async () => {
    const { begin, turn, alone } = await conversations();
    const [idle, busy] = [await begin(), await begin()];
    await end(idle);
    await alone();
    expect(await turn({ thread_id: busy, on_busy: 'reject' })).toBeNull();
    expect(await alone({ on_busy: 'reject' })).toBeNull();
    const accepted = await turn({ thread_id: idle, on_busy: 'reject' });
    expect(await chainOf(idle)).toEqual([
      [1, idle, null],
      [2, accepted, idle],
    ]);
    expect(await chainOf(busy)).toEqual([[1, busy, null]]);
  });

  it('that interrupt: the newest goes first and no older one, and no turn of another thread counts', async () => {
    const { begin, turn, alone, tasks, workflow_id } = await conversations();
    const [thread_id, other] = [await begin(), await begin()];
    const waits = await turn({ thread_id });
    const [older, newest] = [await turn({ thread_id, on_busy: 'interrupt' }), await turn({ thread_id, on_busy: 'interrupt' })];
    const elsewhere = await turn({ thread_id: other, on_busy: 'interrupt' });
    await alone();
    const single = await alone({ on_busy: 'interrupt' });
    expect((await tasks.listSuperseded(workflow_id)).map(({ task_id }) => task_id)).toEqual([older]);
    expect(await ran(thread_id)).toEqual([thread_id, newest, waits]);
    expect(await ran(other)).toEqual([other, elsewhere]);
    expect((await workflowOf(workflow_id)).newest_interrupt).toBe(8);
    expect((await database.prisma.task.findUniqueOrThrow({ where: { id: single! } })).lane_number).toBe(8);
  });
});

describe('a turn that is withdrawn', () => {
  it('leaves the turns behind it linked and counted as if it had not been sent', async () => {
    const { begin, turn, tasks } = await conversations();
    const thread_id = await begin();
    const [second, third, fourth] = [await turn({ thread_id }), await turn({ thread_id }), await turn({ thread_id })];
    expect(await tasks.discard(second!)).toBe(thread_id);
    expect(await chainOf(thread_id)).toEqual([
      [1, thread_id, null],
      [2, third, thread_id],
      [3, fourth, third],
    ]);
    await tasks.discard(fourth!);
    expect(await threadOf(thread_id)).toMatchObject({ head_task_id: third });
    const fifth = await turn({ thread_id });
    expect((await chainOf(thread_id)).at(-1)).toEqual([3, fifth, third]);
    expect(await ran(thread_id)).toEqual([thread_id, third, fifth]);
  });

  it('takes the thread with it that it began', async () => {
    const { begin, tasks } = await conversations();
    const thread_id = await begin();
    expect(await tasks.discard(thread_id)).toBeNull();
    expect(await threadOf(thread_id)).toBeNull();
  });

  it('keeps a thread that has another turn, or was made without one', async () => {
    const { begin, turn, tasks, workflow_id } = await conversations();
    const thread_id = await begin();
    const second = await turn({ thread_id });
    expect(await tasks.discard(thread_id)).toBe(second);
    expect(await chainOf(thread_id)).toEqual([[1, second, null]]);
    const empty = await database.prisma.thread.create({ data: { id: randomUUID(), ...OWNER, workflow_id } });
    const only = await turn({ thread_id: empty.id });
    expect(await threadOf(empty.id)).toMatchObject({ title: 'x' });
    await tasks.discard(only!);
    expect(await threadOf(empty.id)).toMatchObject({ head_task_id: null, active_task_id: null, title: null });
    await database.prisma.thread.update({ where: { id: empty.id }, data: { title: 'Order 4711' } });
    await tasks.discard((await turn({ thread_id: empty.id }))!);
    expect(await threadOf(empty.id)).toMatchObject({ head_task_id: null, title: 'Order 4711' });
  });

  it('continues the thread that it began if it is sent again and has a turn behind it', async () => {
    const { begin, turn, tasks } = await conversations();
    const thread_id = await begin();
    const second = await turn({ thread_id });
    await tasks.discard(thread_id);
    await begin({ id: thread_id });
    expect(await chainOf(thread_id)).toEqual([
      [1, second, null],
      [2, thread_id, second],
    ]);
    expect(await ran(thread_id)).toEqual([second, thread_id]);
  });

  it('gives its thread to the next turn, the newest that interrupts first', async () => {
    const { begin, turn, tasks } = await conversations();
    const thread_id = await begin();
    const [waits, urgent] = [await turn({ thread_id }), await turn({ thread_id, on_busy: 'interrupt' })];
    const withdrawn = await turn({ thread_id, on_busy: 'interrupt' });
    await tasks.discard(withdrawn!);
    expect(await tasks.discard(thread_id)).toBe(urgent);
    expect(await ran(thread_id)).toEqual([urgent, waits]);
  });

  it('leaves the newest turn of the branch in use as the head, also if it was a fork of an earlier turn', async () => {
    const { begin, turn, fork, tasks } = await conversations();
    const thread_id = await begin();
    const [second, third] = [await turn({ thread_id }), await turn({ thread_id })];
    const edited = await fork({ thread_id, source: { id: second!, follows: { task_id: thread_id, turn: 1 } } });
    expect(await threadOf(thread_id)).toMatchObject({ head_task_id: edited });
    await tasks.discard(edited);
    expect(await threadOf(thread_id)).toMatchObject({ head_task_id: third, active_task_id: thread_id });
    const again = await fork({ thread_id, source: { id: third!, follows: { task_id: second!, turn: 2 } } });
    const after = await turn({ thread_id });
    expect((await chainOf(thread_id)).slice(2)).toEqual([
      [3, third, second],
      [3, again, second],
      [4, after, again],
    ]);
  });

  it('changes nothing if it has begun', async () => {
    const { begin, turn, tasks } = await conversations();
    const thread_id = await begin();
    await begun(thread_id);
    const second = await turn({ thread_id });
    expect(await tasks.discard(thread_id)).toBeNull();
    expect(await chainOf(thread_id)).toEqual([
      [1, thread_id, null],
      [2, second, thread_id],
    ]);
  });
});

it('a task without a thread that is withdrawn while a turn runs leaves its workflow idle', async () => {
  const { begin, alone, tasks, workflow_id } = await conversations();
  await begun(await begin());
  const single = await alone();
  expect(await tasks.discard(single!)).toBeNull();
  expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: null, status: 'active', task_count: 1 });
});

it('a workflow whose run ended without passing its lane on is idle, although a turn of a thread is in progress', async () => {
  const { begin, alone, tasks, workflow_id } = await conversations();
  const single = await alone();
  await begin();
  await database.prisma.task.update({ where: { id: single! }, data: { status: 'failed', completed_at: new Date() } });
  await tasks.settleLanes();
  expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: null, status: 'active' });
});

describe('a turn whose record was behind and that is resumed', () => {
  const park = async (id: string) =>
    database.prisma.task.update({
      where: { id },
      data: { status: 'waiting', record_behind: 'the call 1-1', behind_run_id: 'r' },
    });
  const decide = async (workflow_id: string, task_id: string) => {
    await continuityStore(database.pool, () => {}).decide({ task_id, workflow_id }, { decision: 'resume', events: [] });
    return (await database.prisma.task.findUniqueOrThrow({ where: { id: task_id } })).status;
  };

  it('waits for its thread only if another turn holds it', async () => {
    const { begin, turn, alone, workflow_id } = await conversations();
    const [thread_id, single] = [await begin(), await alone()];
    const second = await turn({ thread_id });
    for (const id of [thread_id, second!, single!]) await park(id);
    expect(await decide(workflow_id, thread_id)).toBe('waiting');
    expect(await decide(workflow_id, second!)).toBe('pending');
    expect(await decide(workflow_id, single!)).toBe('waiting');
  });
});

describe('a thread that nobody holds', () => {
  it('is not deleted while a turn waits there until its workflow is switched on', async () => {
    const { begin, turn, workflow_id } = await conversations();
    const thread_id = await begin();
    const second = await turn({ thread_id });
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'inactive' } });
    expect(await end(thread_id)).toBeNull();
    const threads = threadStore(database);
    await expect(threads.remove(thread_id)).rejects.toMatchObject({ code: 'thread_running' });
    await end(second!);
    await threads.remove(thread_id);
    expect(await threadOf(thread_id)).toBeNull();
  });

  it('goes to its next turn once its workflow is switched on, as each lane of the workflow does', async () => {
    const { begin, turn, alone, tasks, workflow_id } = await conversations();
    const [thread_id, idle] = [await begin(), await begin()];
    const second = await turn({ thread_id });
    const [single, behind] = [await alone(), await alone()];
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'inactive' } });
    for (const id of [thread_id, idle, single!]) expect(await end(id)).toBeNull();
    await tasks.settleLanes();
    expect(await tasks.takeLanes(workflow_id)).toEqual([]);
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'active' } });
    expect(await tasks.takeLanes(workflow_id)).toEqual([second, behind]);
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: second });
    expect(await threadOf(idle)).toMatchObject({ active_task_id: null });
    expect(await tasks.takeLanes(workflow_id)).toEqual([]);
  });

  it.each(['completed', 'failed', 'halted'])(
    'because its turn %s without passing it on is given to the next one',
    async (status) => {
      const { begin, turn, tasks } = await conversations();
      const [thread_id, other] = [await begin(), await begin()];
      const second = await turn({ thread_id });
      await database.prisma.task.update({ where: { id: thread_id }, data: { status, completed_at: new Date() } });
      await tasks.settleLanes();
      expect(await tasks.holder(second!)).toBe(second);
      expect(await threadOf(other)).toMatchObject({ active_task_id: other });
    },
  );
});
