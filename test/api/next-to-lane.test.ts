import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Definition } from '../../src/domain/definition.ts';
import { type Database, rows } from '../../src/store/database/database.ts';
import { removeWorkflow } from '../../src/store/resources/workflows.sql.ts';
import { continuityStore } from '../../src/store/runs/continuity.ts';
import type { NewTask } from '../../src/store/runs/new-task.ts';
import { runStore } from '../../src/store/runs/runs.ts';
import { type CreatedTask, taskStore } from '../../src/store/runs/tasks.ts';
import { threadStore } from '../../src/store/runs/threads.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { removeTasks } from '../../src/store/upkeep/retention.sql.ts';
import { openTestDatabase } from '../support/database/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const OWNER = { owner: 'local:alice', owner_login: 'alice' };

/** A workflow, and a way to accept its tasks as an API process does. */
async function createLane() {
  const { prisma, pool } = database;
  const [agent_id, workflow_id] = [uuid(), uuid()];
  await prisma.agent.create({ data: { id: agent_id, name: agent_id, created_by: 'local:alice' } });
  await prisma.workflow.create({ data: { id: workflow_id, agent_id, remember: 'thread', ...OWNER } });
  const tasks = taskStore({ pool, prisma, keys: keyRing(`k:${randomBytes(32).toString('base64')}`) });
  const definition = {
    ...{ agent: { id: agent_id, name: 'a', system_prompt: '' }, workflow: { id: workflow_id, title: null }, model: null },
    webhooks: { completed: null, error: null },
  } as Definition;
  const base = { workflow_id, ...OWNER, prompt: 'x', definition, trigger: 'api', caller_token: null };
  const accept = async (place?: NewTask['place'], on_busy = 'enqueue', task_id = uuid()) => {
    const created = (await tasks.create({ ...base, task_id, place, on_busy })) as CreatedTask | null;
    return { id: task_id, holder: created?.holder ?? null };
  };
  /** Accepts the first turn of a thread, which has its id. */
  const begin = async () => {
    const id = uuid();
    return (await accept({ thread_id: id, is_new: true }, 'enqueue', id)).id;
  };
  return { workflow_id, tasks, accept, begin };
}

const end = async (id: string, status: 'completed' | 'halted' = 'completed') =>
  (await runStore(database.pool).settle(id, { status, error: null, error_code: null, events: [] })).next;
const threadOf = (id: string) => database.prisma.thread.findUnique({ where: { id } });
const taskOf = (id: string) => database.prisma.task.findUnique({ where: { id } });
const workflowOf = (id: string) => database.prisma.workflow.findUniqueOrThrow({ where: { id } });
const beside_lane = true as const;

describe('a turn next to its lane', () => {
  it('holds its own lane at once, follows the turn that it names, and becomes the head; the lane stays as it is', async () => {
    const { accept, begin, tasks } = await createLane();
    const thread_id = await begin();
    const waits = await accept({ thread_id });
    const [left, right] = [
      await accept({ thread_id, follows: { task_id: thread_id, turn: 1 }, beside_lane }),
      await accept({ thread_id, follows: { task_id: thread_id, turn: 1 }, beside_lane }),
    ];
    expect([waits.holder, left.holder, right.holder]).toEqual([thread_id, left.id, right.id]);
    expect(await tasks.holder(left.id)).toBe(left.id);
    expect(await tasks.holder(waits.id)).toBe(thread_id);
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: thread_id, head_task_id: right.id, accepted_tasks: 4 });
    expect(await taskOf(left.id)).toMatchObject({ thread_turn: 2, previous_task_id: thread_id, status: 'pending' });
  });

  it('is not the next one in the lane, and ends without giving the lane to another', async () => {
    const { accept, begin } = await createLane();
    const thread_id = await begin();
    const aside = await accept({ thread_id, beside_lane });
    const waits = await accept({ thread_id });
    expect(await end(aside.id)).toBeNull();
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: thread_id });
    const other = await accept({ thread_id, beside_lane });
    expect(await end(thread_id)).toBe(waits.id);
    expect(await end(waits.id)).toBeNull();
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: null });
    expect(await taskOf(other.id)).toMatchObject({ status: 'pending' });
  });

  it('may begin a thread, whose lane is free; the turn that follows it waits until it has ended', async () => {
    const { accept, tasks } = await createLane();
    const id = uuid();
    expect((await accept({ thread_id: id, is_new: true, beside_lane }, 'interrupt', id)).holder).toBe(id);
    expect(await threadOf(id)).toMatchObject({ active_task_id: null, head_task_id: id, newest_interrupt: 0 });
    const next = await accept({ thread_id: id });
    const later = await accept({ thread_id: id });
    expect([next.holder, later.holder]).toEqual([id, id]);
    expect(await tasks.holder(next.id)).toBe(id);
    expect((await accept({ thread_id: id }, 'reject')).holder).toBeNull();
    await tasks.settleLanes();
    expect(await threadOf(id)).toMatchObject({ active_task_id: null, head_task_id: later.id });
    expect(await end(id)).toBe(next.id);
    expect(await end(next.id)).toBe(later.id);
  });

  it('gives the lane to the turn that waits for it when it is withdrawn', async () => {
    const { accept, begin, tasks } = await createLane();
    const thread_id = await begin();
    await end(thread_id);
    const aside = await accept({ thread_id, beside_lane });
    const next = await accept({ thread_id });
    expect(await tasks.discard(aside.id)).toBe(next.id);
    expect(await taskOf(next.id)).toMatchObject({ thread_turn: 2, previous_task_id: thread_id });
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: next.id, head_task_id: next.id });
  });

  it('does not make a turn of another branch wait', async () => {
    const { accept, begin } = await createLane();
    const thread_id = await begin();
    await end(thread_id);
    await accept({ thread_id, beside_lane });
    const other = await accept({ thread_id, follows: { task_id: thread_id, turn: 1 } });
    expect(other.holder).toBe(other.id);
  });

  it('is accepted with reject while another turn is in progress, and interrupts none', async () => {
    const { accept, begin, tasks, workflow_id } = await createLane();
    const thread_id = await begin();
    const urgent = await accept({ thread_id }, 'interrupt');
    expect((await accept({ thread_id }, 'reject')).holder).toBeNull();
    const calm = await accept({ thread_id, beside_lane }, 'reject');
    const loud = await accept({ thread_id, beside_lane }, 'interrupt');
    expect([calm.holder, loud.holder]).toEqual([calm.id, loud.id]);
    expect((await threadOf(thread_id))!.newest_interrupt).toBe(2);
    const newer = await accept({ thread_id }, 'interrupt');
    expect(await tasks.listSuperseded(workflow_id)).toEqual([{ task_id: urgent.id, principal: 'local:alice' }]);
    // It follows the newest of those next to the lane.
    expect(await end(thread_id)).toBeNull();
    expect(await end(loud.id)).toBe(newer.id);
  });

  it('that is withdrawn leaves the lane alone, and the head to the turn before it', async () => {
    const { accept, begin, tasks } = await createLane();
    const thread_id = await begin();
    const urgent = await accept({ thread_id }, 'interrupt');
    const aside = await accept({ thread_id, follows: { task_id: thread_id, turn: 1 }, beside_lane }, 'interrupt');
    expect(await tasks.discard(aside.id)).toBeNull();
    expect(await taskOf(aside.id)).toBeNull();
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: thread_id, head_task_id: thread_id, newest_interrupt: 2 });
    await accept({ thread_id, beside_lane }, 'interrupt');
    expect(await tasks.discard(urgent.id)).toBe(thread_id);
    expect(await threadOf(thread_id)).toMatchObject({ newest_interrupt: 0 });
  });

  it('does not take a free lane', async () => {
    const { accept, begin } = await createLane();
    const thread_id = await begin();
    await end(thread_id);
    await accept({ thread_id, beside_lane });
    expect(await threadOf(thread_id)).toMatchObject({ active_task_id: null });
  });

  it('keeps its thread from being deleted or forgotten while it is in progress', async () => {
    const { accept, begin } = await createLane();
    const thread_id = await begin();
    const aside = await accept({ thread_id, beside_lane });
    await end(thread_id);
    await expect(threadStore(database).remove(thread_id)).rejects.toMatchObject({ code: 'thread_running' });
    const later = new Date(Date.now() + 86_400_000);
    const sweep = () => rows<{ id: string }>(database.pool, removeTasks({ task_ids: [thread_id], before: later }));
    expect(await sweep()).toEqual([]);
    await end(aside.id);
    expect(await sweep()).toEqual([{ id: thread_id }]);
  });

  it('that is resumed after a restore does not wait for the lane', async () => {
    const { accept, begin, workflow_id } = await createLane();
    const thread_id = await begin();
    const aside = await accept({ thread_id, beside_lane });
    await database.prisma.task.update({
      where: { id: aside.id },
      data: { status: 'waiting', record_behind: 'the call 1-1', behind_run_id: 'r' },
    });
    const place = { task_id: aside.id, workflow_id };
    await continuityStore(database.pool, () => {}).decide(place, { decision: 'resume', events: [] });
    expect(await taskOf(aside.id)).toMatchObject({ status: 'waiting' });
  });
});

describe('a task next to the lane of its workflow', () => {
  it('leaves the lane and the state of the workflow as they are, from its beginning to its end', async () => {
    const { accept, tasks, workflow_id } = await createLane();
    const idle = { active_task_id: null, status: 'active', newest_interrupt: 0 };
    const aside = await accept({ thread_id: null, beside_lane }, 'interrupt');
    expect(await workflowOf(workflow_id)).toMatchObject({ ...idle, task_count: 1, last_task_id: aside.id });
    const single = await accept();
    expect([aside.holder, single.holder]).toEqual([aside.id, single.id]);
    expect(await end(aside.id)).toBeNull();
    expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: single.id, status: 'running' });
    expect(await end(single.id)).toBeNull();
    const withdrawn = await accept({ thread_id: null, beside_lane });
    await database.prisma.workflow.update({ where: { id: workflow_id }, data: { status: 'failed' } });
    expect(await tasks.discard(withdrawn.id)).toBeNull();
    expect(await workflowOf(workflow_id)).toMatchObject({ status: 'failed', task_count: 2, last_task_id: single.id });
  });

  it('is left alone when lanes are settled or taken, and ends with the rest when the workflow is switched off', async () => {
    const { accept, tasks, workflow_id } = await createLane();
    const aside = await accept({ thread_id: null, beside_lane });
    await tasks.settleLanes();
    expect(await tasks.takeLanes(workflow_id)).toEqual([]);
    expect(await workflowOf(workflow_id)).toMatchObject({ active_task_id: null, status: 'active' });
    expect(await tasks.listQueued(workflow_id, 7)).toEqual([{ task_id: aside.id, principal: 'local:alice' }]);
    expect(await tasks.findUnfinished(aside.id)).toMatchObject({ holder: aside.id, superseded: false });
  });

  it('keeps its workflow from being deleted while it is in progress', async () => {
    const { accept, workflow_id } = await createLane();
    const aside = await accept({ thread_id: null, beside_lane });
    const remove = () => rows<{ id: string }>(database.pool, removeWorkflow({ id: workflow_id }));
    expect(await remove()).toEqual([]);
    await end(aside.id, 'halted');
    expect(await remove()).toEqual([{ id: workflow_id }]);
  });
});
