import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, hangs } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { clientForTests } from '../support/runs/temporal-client.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  [here, receiver] = await Promise.all([startTestInstallation(), startReceiver()]);
});
afterAll(async () => {
  await here.stop();
  await receiver.stop();
});

const remove = (id: string, query = '') => here.alice.del(`/api/workflows/${id}${query}`);

/** Nothing of these tasks is left: no record, and no execution in the engine that still runs. */
async function expectGone(workflow_id: string, tasks: string[]): Promise<void> {
  expect((await here.alice.get(`/api/workflows/${workflow_id}`)).status).toBe(404);
  for (const task_id of tasks) expect((await here.alice.get(`/api/tasks/${task_id}`)).status).toBe(404);
  const { rows } = await here.core.database.pool.query('SELECT id FROM tasks WHERE id = ANY ($1)', [tasks]);
  expect(rows).toEqual([]);
  await using temporal = await clientForTests(here.setting);
  for (const task_id of tasks) {
    const statusOf = async () => (await temporal.client.workflow.getHandle(`task-${task_id}`).describe()).status.name;
    await until(`the execution of ${task_id} ends`, async () => (await statusOf()) !== 'RUNNING', 20_000);
    // A terminated one was an orphan that the reconciler has swept away.
    expect(await statusOf()).not.toBe('TERMINATED');
  }
}

it('a workflow whose run and queue are in progress is kept, and with force halted and removed', async () => {
  const workflow_id = await here.workflow({ workflow: { error_webhook_url: receiver.url } });
  here.model.script(hangs('Busy'));
  const tasks = [await here.prompt(workflow_id)];
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${tasks[0]}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  for (const prompt of ['second', 'third']) tasks.push(await here.prompt(workflow_id, prompt));
  const refused = await remove(workflow_id);
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'workflow_running', detail: expect.stringContaining('?force=true') },
  });
  expect((await here.alice.get(`/api/tasks/${tasks[0]}`)).body.status).toBe('running');
  const asked = here.model.requests.length;
  expect((await remove(workflow_id, '?force=true')).status).toBe(204);
  await expectGone(workflow_id, tasks);
  // None of those who waited had a turn.
  expect(here.model.requests).toHaveLength(asked);
}, 90_000);

it('a run that waits for a person is halted and removed with its workflow', async () => {
  const builtin_tools = ['manage_todo_list'];
  const workflow_id = await here.workflow({ agent: { builtin_tools, approval_tools: builtin_tools } });
  here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }));
  const task_id = await here.prompt(workflow_id);
  await until('it waits', async () => (await here.alice.get(`/api/tasks/${task_id}`)).body.status === 'waiting', 40_000);
  expect((await remove(workflow_id)).status).toBe(409);
  expect((await remove(workflow_id, '?force=true')).status).toBe(204);
  await expectGone(workflow_id, [task_id]);
}, 90_000);

it('deletes while prompts and halts end, and leaves nothing behind', async () => {
  for (let round = 0; round < 3; round += 1) {
    const workflow_id = await here.workflow();
    here.model.always(hangs('Busy'));
    const first = await here.prompt(workflow_id);
    await wait(round * 100);
    const prompts = [1, 2, 3].map(() => here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }));
    const deletes = [1, 2].map(() => remove(workflow_id, '?force=true'));
    const halt = here.alice.post(`/api/workflows/${workflow_id}/halt`);
    const answers = await Promise.all([...prompts, ...deletes, halt]);
    expect(answers.map(({ status }) => status).filter((status) => status >= 500)).toEqual([]);
    await until('it is removed', async () => [204, 404].includes((await remove(workflow_id, '?force=true')).status), 40_000);
    const accepted = answers.slice(0, 3).filter(({ status }) => status === 201);
    await expectGone(workflow_id, [first, ...accepted.map(({ body }) => body.task_id as string)]);
  }
}, 180_000);

/** The engine is given the run after the halt has not found it there, and the run begins before its task is settled. */
it('a run that is started while it is deleted, and has begun, ends by itself', async () => {
  const { engine } = here.driver;
  const { bus } = here.core;
  const [start, halt] = [engine.start, bus.halt];
  const workflow_id = await here.workflow();
  here.model.script(hangs('Busy'));
  const halted = Promise.withResolvers<void>();
  engine.start = async (...run) => {
    await halted.promise;
    return start(...run);
  };
  bus.halt = async (task_id) => {
    bus.halt = halt;
    await halt(task_id);
    halted.resolve();
    const begun = ({ type }: { type: string }) => type === 'message_delta';
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { enough: begun });
  };
  try {
    const prompted = here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' });
    const tasks = async () => (await here.alice.get(`/api/tasks?workflow_id=${workflow_id}`)).body as unknown as { id: string }[];
    await until('its task is written', async () => (await tasks()).length === 1);
    const [{ id: task_id }] = (await tasks()) as [{ id: string }];
    expect((await remove(workflow_id, '?force=true')).status).toBe(204);
    expect((await prompted).status).toBe(201);
    await expectGone(workflow_id, [task_id]);
  } finally {
    engine.start = start;
    bus.halt = halt;
  }
});

it('a prompt that comes while its workflow is being halted is halted with it', async () => {
  const { bus } = here.core;
  const { halt } = bus;
  const workflow_id = await here.workflow();
  here.model.always(hangs('Busy'));
  const tasks = [await here.prompt(workflow_id)];
  bus.halt = async (task_id) => {
    bus.halt = halt;
    tasks.push(await here.prompt(workflow_id));
    await halt(task_id);
  };
  try {
    expect((await remove(workflow_id, '?force=true')).status).toBe(204);
    expect(tasks).toHaveLength(2);
    await expectGone(workflow_id, tasks);
  } finally {
    bus.halt = halt;
  }
});
