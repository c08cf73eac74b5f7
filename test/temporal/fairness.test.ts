import { afterAll, beforeAll, expect, it } from 'vitest';
import { toScheduleId } from '../../src/temporal/names.ts';
import * as workflows from '../../src/temporal/workflows/index.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

/** How many steps the worker carries out at once. */
const AT_ONCE = 2;
const FLOOD = 24;
const FEW = 4;

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { WORKER_MAX_ACTIVITIES: String(AT_ONCE), RATE_LIMIT_PER_MINUTE: '100000' } });
});
afterAll(() => here.stop());

const ACTIVITIES = 2;

/** How many steps wait for the worker. */
async function waiting(): Promise<number> {
  const { client } = here.driver;
  const { stats } = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: here.setting.config.TEMPORAL_TASK_QUEUE },
    taskQueueType: ACTIVITIES,
    reportStats: true,
  });
  return Number(stats?.approximateBacklogCount ?? 0);
}

/** Occupies the worker until `free` is called. */
async function busy(): Promise<{ free(): void }> {
  const gate = Promise.withResolvers<void>();
  const asked = here.model.requests.length;
  here.model.always(says('Done.'));
  here.model.script(...Array.from({ length: AT_ONCE }, () => says('Busy.', { until: gate.promise })));
  for (let n = 0; n < AT_ONCE; n += 1) await here.prompt(await here.workflow(), 'busy');
  await until('the worker is busy', async () => here.model.requests.length === asked + AT_ONCE);
  return { free: () => gate.resolve() };
}

/** Each with a separate workflow, so that none waits for another one's lane. */
async function prompts(by: Pick<TestInstallation, 'workflow' | 'prompt'>, count: number, prompt: string): Promise<string[]> {
  const tasks: string[] = [];
  for (let n = 0; n < count; n += 1) tasks.push(await by.prompt(await by.workflow(), prompt));
  return tasks;
}

const promptsSince = (asked: number) => here.model.requests.slice(asked).map(({ messages }) => messages.at(-1)?.content);

it('the flood of one owner lets the few runs of another one through', async () => {
  const bob = helpers(here.bob, here.model, 'of bob ');
  const { free } = await busy();
  const flood = await prompts(here, FLOOD, 'flood');
  await until('the flood waits', async () => (await waiting()) >= FLOOD);
  const few = await prompts(bob, FEW, 'few');
  await until('the few wait', async () => (await waiting()) >= FLOOD + FEW);
  const asked = here.model.requests.length;
  free();
  for (const task_id of few) expect(await bob.ended(task_id)).toMatchObject({ status: 'completed' });
  const before = promptsSince(asked);
  const last = before.lastIndexOf('few');
  const overtaking = before.slice(0, last).filter((prompt) => prompt === 'flood').length;
  // They take turns; the worker may have taken some of the flood before.
  expect(overtaking).toBeLessThanOrEqual(FEW + AT_ONCE);
  for (const task_id of flood) await here.ended(task_id, 60_000);
});

it('runs that somebody waits for come before runs that a schedule started', async () => {
  const { free } = await busy();
  const tasks: string[] = [];
  for (let n = 0; n < 2 * FEW; n += 1) {
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    const schedule = { name: `s${n}`, prompt: 'scheduled', interval_value: 1, interval_unit: 'days', start_at };
    const workflow_id = await here.workflow();
    const { id } = await here.alice.ok(here.alice.post('/api/scheduled-agents', { ...schedule, workflow_id }), 201);
    tasks.push((await here.alice.ok(here.alice.post(`/api/scheduled-agents/${id}/trigger`))).task_id);
  }
  await until('the scheduled runs wait', async () => (await waiting()) >= 2 * FEW);
  const asked = here.model.requests.length;
  tasks.push(...(await prompts(here, FEW, 'few')));
  await until('all wait', async () => (await waiting()) >= 3 * FEW);
  free();
  for (const task_id of tasks) await here.ended(task_id);
  const order = promptsSince(asked);
  const overtaking = order.slice(0, order.lastIndexOf('few')).filter((prompt) => prompt === 'scheduled').length;
  expect(overtaking).toBeLessThanOrEqual(AT_ONCE);
});

/** The fairness keys of all executions, by the name of their workflow. */
async function keysByWorkflow(): Promise<Map<string, Set<string | undefined>>> {
  const { client } = here.driver;
  const found = new Map<string, Set<string | undefined>>();
  for await (const { workflowId } of client.workflow.list({
    query: `TaskQueue = '${here.setting.config.TEMPORAL_TASK_QUEUE}'`,
  })) {
    const { type, priority } = await client.workflow.getHandle(workflowId).describe();
    found.set(type, (found.get(type) ?? new Set()).add(priority?.fairnessKey));
  }
  return found;
}

it('every execution that belongs to an owner has the owner as its fairness key', async () => {
  const receiver = await startReceiver();
  try {
    here.model.always(says('Done.'));
    const task_id = await here.prompt(await here.workflow({ workflow: { webhook_url: receiver.url } }));
    await here.ended(task_id);
    const [schedule] = await here.core.store.scheduledAgents.all();
    const { id, owner } = schedule!;
    await here.driver.client.schedule.getHandle(toScheduleId(id)).trigger();
    const { dataset, begin, ended } = openEvaluations(here);
    await ended(await begin(await dataset({ x: 'Done.' }), { workflow_id: await here.workflow() }));
    const { reconcileTasks: _ownerless, ...owned } = workflows;
    const found = await until('one execution of each', async () => {
      const keys = await keysByWorkflow();
      return Object.keys(owned).every((name) => keys.has(name)) && keys;
    });
    const bob = await here.bob.ok(here.bob.get('/api/me'));
    for (const name of Object.keys(owned)) {
      const keys = [...found.get(name)!];
      expect({ name, without: keys.filter((key) => key !== owner && key !== bob.id) }).toEqual({ name, without: [] });
      expect(keys).toContain(owner);
    }
  } finally {
    await receiver.stop();
  }
});
