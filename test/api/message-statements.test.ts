import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Definition } from '../../src/domain/definition.ts';
import type { Database } from '../../src/store/database/database.ts';
import { runStore } from '../../src/store/runs/runs.ts';
import { type CreatedTask, taskStore } from '../../src/store/runs/tasks.ts';
import { threadMessageStore } from '../../src/store/runs/thread-messages.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { openTestDatabase } from '../support/database/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const OWNER = { owner: 'local:alice', owner_login: 'alice' };

/** A thread whose first turn holds the lane, with ways to add turns and messages to it as API processes do. */
async function busyThread() {
  const { prisma, pool } = database;
  const [agent_id, workflow_id, first] = [randomUUID(), randomUUID(), randomUUID()];
  await prisma.agent.create({ data: { id: agent_id, name: agent_id, created_by: 'local:alice' } });
  await prisma.workflow.create({ data: { id: workflow_id, agent_id, remember: 'thread', ...OWNER } });
  const keys = keyRing(`k:${randomBytes(32).toString('base64')}`);
  const tasks = taskStore({ pool, prisma, keys });
  const messages = threadMessageStore({ pool, keys });
  const agent = { id: agent_id, name: 'a', system_prompt: '' };
  const definition = {
    ...{ agent, workflow: { id: workflow_id, title: null }, model: 'm', webhooks: { completed: null, error: null } },
  } as Definition;
  const base = { workflow_id, ...OWNER, prompt: 'x', definition, trigger: 'thread', caller_token: null };
  const turn = async (on_busy = 'enqueue', place: object = { thread_id: first }, id = randomUUID()) => {
    const created = await (tasks.create({ ...base, task_id: id, on_busy, place: place as never }) as Promise<CreatedTask | null>);
    return created && id;
  };
  await turn('enqueue', { thread_id: first, is_new: true }, first);
  return {
    workflow_id,
    first,
    messages,
    tasks,
    turn,
    /** Sends a message that forks the first turn at its second step. */
    fork: async (content: string) => {
      const id = randomUUID();
      const seed = { task_id: first, step: 2, effects: 'live' as const, definition_hash: null, changes: [], turns: 0 };
      const place = { thread_id: first, follows: { task_id: null, turn: 0 }, beside_lane: true as const };
      const copy = { ...seed, is_copy: true, message: content, edits: [], keeps_extra: true };
      const receipt = { when_busy: 'fork', metadata: {}, content };
      await tasks.create({ ...base, task_id: id, on_busy: 'enqueue', place, seed: copy, receipt });
      return id;
    },
    textsOf: async (task_id: string) => {
      const found = await prisma.taskMessage.findMany({ where: { task_id }, orderBy: [{ step: 'asc' }, { position: 'asc' }] });
      return found.map((message) => message.content);
    },
    /** Sends a message to the task that holds the lane; null if another one does. */
    steer: async (message: string, task_id: string = first, { caller_token = null, ...request }: Steering = {}) => {
      const id = request.id ?? randomUUID();
      const steer = { ...OWNER, id, task_id, workflow_id, thread_id: first, message, caller_token, claim: request.claim };
      const more = { attachments: [], when_busy: 'steer', metadata: {}, service_key_id: null };
      return (await messages.steer({ ...steer, ...more })) ? id : null;
    },
  };
}

interface Steering {
  id?: string;
  claim?: number;
  caller_token?: string | null;
}

type Status = 'completed' | 'failed' | 'halted';
const end = async (id: string, status: Status = 'failed', error_code: string | null = 'x') => {
  const error = error_code === null ? null : 'The reason';
  return (await runStore(database.pool).settle(id, { status, error, error_code, events: [] })).next;
};
const stateOf = async (id: string | null) => {
  const { state, task_id, step, reason } = await database.prisma.threadMessage.findUniqueOrThrow({ where: { id: id! } });
  return { state, task_id, step, reason };
};
const taskOf = (id: string | null) => database.prisma.task.findUnique({ where: { id: id! } });
const markBegun = (id: string) => database.prisma.task.update({ where: { id }, data: { started_at: new Date() } });
const threadOf = (id: string) => database.prisma.thread.findUniqueOrThrow({ where: { id } });

describe('the messages that wait for a turn when it ends', () => {
  it('begin the next one, before the turns that were accepted after them; those follow it', async () => {
    const { first, steer, turn, workflow_id } = await busyThread();
    const [two, three] = [await steer('two'), await steer('three')];
    const later = await turn();
    expect(await end(first)).toBe(two);
    expect(await stateOf(two)).toMatchObject({ state: 'started', task_id: two });
    expect(await stateOf(three)).toMatchObject({ state: 'pending', task_id: two });
    const begun = { prompt: 'two', status: 'pending', model: 'm', lane_number: 2, thread_turn: 2, previous_task_id: first };
    expect(await taskOf(two)).toMatchObject({ ...begun, ...OWNER, thread_id: first, trigger: 'thread' });
    expect(await taskOf(later)).toMatchObject({ thread_turn: 3, previous_task_id: two, lane_number: 4 });
    expect(await threadOf(first)).toMatchObject({ active_task_id: two, head_task_id: later, accepted_tasks: 4 });
    const workflow = await database.prisma.workflow.findUniqueOrThrow({ where: { id: workflow_id } });
    expect(workflow).toMatchObject({ task_count: 3, last_task_id: two, last_task_status: 'pending' });
    expect(await end(two!, 'completed', null)).toBe(three);
    expect(await end(three!, 'completed', null)).toBe(later);
  });

  it('go to a turn that was accepted before them', async () => {
    const { first, steer, turn } = await busyThread();
    const earlier = await turn();
    const three = await steer('three');
    expect(await end(first)).toBe(earlier);
    expect(await stateOf(three)).toEqual({ state: 'pending', task_id: earlier, step: null, reason: null });
    expect(await threadOf(first)).toMatchObject({ active_task_id: earlier, head_task_id: earlier });
  });

  it('go to a turn that interrupts, also if a person has stopped the run', async () => {
    const { first, steer, turn } = await busyThread();
    const two = await steer('two');
    const newest = await turn('interrupt');
    expect(await end(first, 'halted', null)).toBe(newest);
    expect(await stateOf(two)).toMatchObject({ state: 'pending', task_id: newest });
  });

  it.each<[string, Status, string | null, boolean]>([
    ['halted by a person', 'halted', null, false],
    ['complete although a person had asked to halt it', 'completed', null, true],
  ])('are refused if it is %s, and turns that wait follow', async (_, status, code, halt_requested) => {
    const { first, steer, turn, tasks, messages } = await busyThread();
    const two = await steer('two');
    if (halt_requested) await tasks.noteHalt(first);
    const later = await turn();
    expect(await end(first, status, code)).toBe(later);
    expect(await stateOf(two)).toMatchObject({ state: 'refused', task_id: first });
    expect(await messages.find(two!)).toMatchObject({
      reason: 'The run was stopped before it read this message; send the message again',
    });
  });

  it('begin a turn if a budget has halted it', async () => {
    const { first, steer } = await busyThread();
    const two = await steer('two');
    expect(await end(first, 'halted', 'budget_exhausted')).toBe(two);
  });

  it('are refused with it if its workflow is switched off before it begins', async () => {
    const { first, steer, messages } = await busyThread();
    const two = await steer('two');
    await end(first, 'halted', 'workflow_inactive');
    expect(await messages.find(two!)).toMatchObject({ state: 'refused', reason: 'The reason' });
  });

  it('begin a turn that waits if its workflow is switched off meanwhile', async () => {
    const { first, steer, workflow_id, tasks } = await busyThread();
    const two = await steer('two');
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'inactive' } });
    expect(await end(first)).toBeNull();
    expect(await taskOf(two)).toMatchObject({ status: 'pending', previous_task_id: first });
    expect(await threadOf(first)).toMatchObject({ active_task_id: null, head_task_id: two });
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'active' } });
    expect(await tasks.takeLanes(workflow_id)).toEqual([two]);
  });

  it('are refused if it is a fork whose tools are not called', async () => {
    const { first, steer, messages } = await busyThread();
    await database.prisma.task.update({ where: { id: first }, data: { fork_effects: 'stub' } });
    const two = await steer('two');
    expect(await end(first)).toBeNull();
    expect((await messages.find(two!))!.reason).toContain('no run follows a fork whose tools are not called');
  });

  it('keep the access token of their sender for the turn that they begin, sealed for it, and drop it otherwise', async () => {
    const { first, steer, tasks } = await busyThread();
    const [two, three] = [
      await steer('two', first, { caller_token: 'secret-17' }),
      await steer('three', first, { caller_token: 'secret-19' }),
    ];
    await end(first);
    const { caller_token, caller_key_id } = (await tasks.findSecretFacts(two!))!;
    expect(tasks.callerToken({ task_id: two!, caller_token, caller_key_id })).toBe('secret-17');
    await end(two!, 'halted', null);
    const rows = await database.prisma.threadMessage.findMany({ where: { id: { in: [two!, three!] } } });
    expect(rows.map((one) => [one.caller_token, one.caller_key_id])).toEqual([
      [null, null],
      [null, null],
    ]);
  });
});

describe('a message for a run', () => {
  it('is not written by a try that another one has overtaken', async () => {
    const { first, steer } = await busyThread();
    const id = randomUUID();
    const key = { principal: 'ada', key: id, request_hash: 'x', reserved_id: id, claims: 2 };
    await database.prisma.idempotencyKey.create({ data: key });
    expect(await steer('two', first, { id, claim: 1 })).toBeNull();
    expect(await steer('two', first, { id, claim: 2 })).toBe(id);
  });

  it('is not taken by one that has ended, is being stopped, or does not hold the lane', async () => {
    const { first, steer, turn, tasks } = await busyThread();
    const waiting = await turn();
    expect(await steer('to one that waits', waiting!)).toBeNull();
    await tasks.noteHalt(first);
    expect(await steer('to one that is being stopped')).toBeNull();
    await end(first);
    expect(await steer('to one that has ended')).toBeNull();
    expect(await steer('to the one that holds the lane now', waiting!)).not.toBeNull();
    expect(await database.prisma.threadMessage.count({ where: { thread_id: first } })).toBe(1);
  });

  it('has its place among the turns', async () => {
    const { first, steer, turn } = await busyThread();
    const [two, three, four] = [await steer('two'), await turn(), await steer('four')];
    const numbers = await database.prisma.threadMessage.findMany({ where: { thread_id: first }, orderBy: { number: 'asc' } });
    expect(numbers.map(({ id, number }) => [id, number])).toEqual([
      [two, 2],
      [four, 4],
    ]);
    expect(await taskOf(three)).toMatchObject({ lane_number: 3 });
  });

  it('keeps the run that it waits for from being discarded', async () => {
    const { first, steer, tasks } = await busyThread();
    const two = await steer('two');
    await tasks.discard(first);
    expect(await taskOf(first)).toMatchObject({ status: 'pending' });
    expect(await stateOf(two)).toMatchObject({ state: 'pending', task_id: first });
  });

  it('is refused or taken, but never both, when its run ends at the same time', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 23 }, async () => {
        const { first, steer } = await busyThread();
        const [sent, next] = await Promise.all([steer('two'), end(first)]);
        const waits = await database.prisma.threadMessage.count({ where: { thread_id: first, state: 'pending' } });
        return { agrees: sent === next, waits };
      }),
    );
    expect(outcomes).toEqual(Array.from({ length: 23 }, () => ({ agrees: true, waits: 0 })));
  });
});

describe('a turn that interrupts', () => {
  it('stands before the turns that wait, which follow it; the last of them stays the head', async () => {
    const { first, turn, tasks } = await busyThread();
    const [two, three] = [await turn(), await turn()];
    const newest = await turn('interrupt');
    expect(await taskOf(newest)).toMatchObject({ previous_task_id: first, thread_turn: 2 });
    expect(await taskOf(two)).toMatchObject({ previous_task_id: newest, thread_turn: 3 });
    expect(await taskOf(three)).toMatchObject({ previous_task_id: two, thread_turn: 4 });
    expect(await threadOf(first)).toMatchObject({ active_task_id: first, head_task_id: three });
    expect(await tasks.discard(newest!)).toBe(first);
    expect(await taskOf(two)).toMatchObject({ previous_task_id: first, thread_turn: 2 });
    expect(await taskOf(three)).toMatchObject({ previous_task_id: two, thread_turn: 3 });
  });

  it('follows the turn in progress if none waits, and is the head', async () => {
    const { first, turn } = await busyThread();
    const newest = await turn('interrupt');
    expect(await taskOf(newest)).toMatchObject({ previous_task_id: first, thread_turn: 2 });
    expect(await threadOf(first)).toMatchObject({ head_task_id: newest });
    await end(first);
    // It holds the lane now, and has not begun.
    const next = await turn('interrupt');
    expect(await taskOf(next)).toMatchObject({ previous_task_id: newest, thread_turn: 3 });
  });

  it('leaves the turns where they are if it is refused', async () => {
    const { first, turn, workflow_id } = await busyThread();
    const two = await turn();
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'inactive' } });
    expect(await turn('interrupt')).toBeNull();
    expect(await taskOf(two)).toMatchObject({ previous_task_id: first, thread_turn: 2 });
  });
});

describe('a message while a fork of the turn in progress is the branch in use', () => {
  it('is for the fork, and begins the turn after it if the fork ends first, although the lane is held', async () => {
    const { first, fork, steer, turn } = await busyThread();
    const waiting = await turn();
    const forked = await fork('or five');
    await markBegun(forked);
    expect(await steer('to the turn that holds the lane')).toBeNull();
    const [five, six] = [await steer('five', forked), await steer('six', forked)];
    expect(await end(forked)).toBeNull();
    expect(await stateOf(five)).toMatchObject({ state: 'started', task_id: five });
    expect(await stateOf(six)).toMatchObject({ state: 'pending', task_id: five });
    expect(await taskOf(five)).toMatchObject({ previous_task_id: forked, thread_turn: 2 });
    expect(await threadOf(first)).toMatchObject({ active_task_id: first, head_task_id: five });
    expect(await end(first)).toBe(waiting);
    expect(await end(waiting!)).toBe(five);
  });

  it('goes to the turn that waits for the fork', async () => {
    const { first, fork, steer, turn } = await busyThread();
    const forked = await fork('or five');
    await end(first);
    const [next, six] = [await turn(), await steer('six', forked)];
    expect(await threadOf(first)).toMatchObject({ active_task_id: null });
    expect(await end(forked)).toBe(next);
    expect(await stateOf(six)).toMatchObject({ state: 'pending', task_id: next });
  });
});

describe('a message that is withdrawn', () => {
  it('is not taken by a step that has read it before', async () => {
    const { first, steer, messages } = await busyThread();
    const two = await steer('two');
    const runs = runStore(database.pool);
    const run = (await runs.open(first, 1))!;
    expect(run.waiting_messages).toEqual([{ id: two, content: 'two', attachments: null }]);
    expect(await messages.withdraw((await messages.find(two!))!)).toBe(first);
    const asked = { position: 0, model: null, provider: null };
    const opening = { step: 1, turns: 0, denied: [], fallback: null, asked, messages: [], events: [] };
    expect(await runs.begin(run, { ...opening, taken: [two!] })).toBeNull();
    expect(await taskOf(first)).toMatchObject({ status: 'pending', started_at: null });
    expect(await runs.begin(run, { ...opening, taken: [] })).not.toBeNull();
    expect(await messages.withdraw((await messages.find(two!))!)).toBeNull();
  });

  it('leaves the transcript of the fork that it made, and the branch in use is the one that was forked', async () => {
    const { first, fork, turn, messages, textsOf } = await busyThread();
    const waiting = await turn();
    const [forked, next] = [await fork('or five'), await turn()];
    expect(await textsOf(forked)).toEqual(['or five']);
    expect(await taskOf(next)).toMatchObject({ previous_task_id: forked, thread_turn: 2 });
    await messages.withdraw((await messages.find(forked))!);
    await end(forked, 'halted', null);
    expect(await textsOf(forked)).toEqual([]);
    expect(await taskOf(next)).toMatchObject({ previous_task_id: waiting, thread_turn: 3 });
    expect(await end(first)).toBe(waiting);
  });

  it('leaves a turn that interrupts before the turns that wait', async () => {
    const { first, fork, turn, messages } = await busyThread();
    await turn();
    const forked = await fork('or five');
    const newest = await turn('interrupt');
    await messages.withdraw((await messages.find(forked))!);
    await end(forked, 'halted', null);
    expect(await taskOf(newest)).toMatchObject({ previous_task_id: first, thread_turn: 2 });
    expect(await end(first)).toBe(newest);
  });

  it('stays in the transcript of a fork that has begun', async () => {
    const { first, fork, textsOf } = await busyThread();
    const forked = await fork('or five');
    await markBegun(forked);
    await end(forked, 'halted', null);
    expect(await textsOf(forked)).toEqual(['or five']);
    expect(await threadOf(first)).toMatchObject({ active_task_id: first, head_task_id: forked });
  });

  it('lets the messages that waited for its turn begin another one', async () => {
    const { first, steer, messages } = await busyThread();
    const two = await steer('two');
    await end(first);
    const three = await steer('three', two!);
    expect(await messages.withdraw((await messages.find(two!))!)).toBe(two);
    expect(await taskOf(two)).toMatchObject({ halt_requested: true });
    expect(await end(two!, 'halted', null)).toBe(three);
    expect(await stateOf(two)).toMatchObject({ state: 'withdrawn' });
    expect(await stateOf(three)).toMatchObject({ state: 'started', task_id: three });
  });
});

it('no message waits for a task that has ended, whatever has happened above', async () => {
  const left = await database.pool.query(
    `SELECT m.id FROM thread_messages m JOIN tasks t ON t.id = m.task_id
     WHERE m.state = 'pending' AND t.status NOT IN ('pending', 'running', 'waiting')`,
  );
  expect(left.rows).toEqual([]);
});
