import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { rebuilt, type StreamedEvent } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const workers: Child[] = [];

beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
});
afterAll(() => here.stop());

/** A worker in a separate process, on the installation's database and task queue. */
async function startWorker(): Promise<Child> {
  const worker = await startWorkerProcess(here.setting);
  workers.push(worker);
  return worker;
}

const loseWorker = () => workers.shift()!.end('SIGKILL');

it('continues with another worker when one dies during a model call; the stream has no gap and no step is paid twice', async () => {
  await startWorker();
  const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
  const todoList = [{ id: 1, title: 'a', status: 'done' }];
  here.model.script(asks({ name: 'manage_todo_list', args: { todoList } }), hangs('Half of '), says('All of it.'));
  const before = here.model.requests.length;
  const task_id = await here.prompt(workflow_id);
  const watched = here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { timeout_ms: 60_000 });
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  await loseWorker();
  await startWorker();
  const events = await watched;
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'All of it.' });
  expect(rebuilt(events)).toEqual({ texts: ['', 'All of it.'], unfinished: '' });
  expect(gaps(events)).toEqual([]);
  expect(here.model.requests.length - before).toBe(3);
}, 90_000);

it('asks for the result of write tools whose worker died, and continues as decided or is halted meanwhile', async () => {
  await startWorker();
  const [task_id, other] = [await paying(), await paying()];
  await loseWorker();
  await startWorker();
  for (const id of [task_id, other]) await until('it waits', async () => (await taskOf(id)).status === 'waiting', 40_000);
  expect((await here.alice.post(`/api/tasks/${other}/stop`)).status).toBe(202);
  expect(await here.ended(other)).toMatchObject({ status: 'halted', error: null });
  here.model.script(says('Settled.'));
  const path = `/api/tasks/${task_id}/reconciliations/1-1`;
  expect((await here.bob.post(path, { decision: 'retry' })).status).toBe(403);
  expect((await here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' })).status).toBe(409);
  await here.alice.ok(here.alice.post(path, { decision: 'done', result: { receipt: 7 } }));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Settled.' });
  expect(here.model.requests.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool', content: '{"receipt":7}' });
}, 90_000);

it('hands a step over when its worker is asked to stop, and that is no halt', async () => {
  const first = await startWorker();
  const workflow_id = await here.workflow();
  here.model.script(says('a slow answer that takes its time', { pause_ms: 150 }));
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  workers.splice(workers.indexOf(first), 1);
  expect(await first.end('SIGTERM')).toBe(0);
  await startWorker();
  expect(await here.ended(task_id, 40_000)).toMatchObject({ status: 'completed', response: 'a slow answer that takes its time' });
}, 90_000);

const taskOf = (task_id: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));

/** A run whose write tool is running. */
async function paying(): Promise<string> {
  const workflow_id = await here.workflow({ tools: ['import time\ndef pay() -> str:\n    time.sleep(20)\n    return "paid"\n'] });
  here.model.script(asks({ name: await toolOf(workflow_id) }));
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ data }) => data.event === 'tool_call',
  });
  return task_id;
}

const gaps = (events: StreamedEvent[]) => events.filter(({ id }, index) => index > 0 && id !== events[index - 1]!.id + 1);

async function toolOf(workflow_id: string): Promise<string> {
  const workflow = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const agent = await here.alice.ok(here.alice.get(`/api/agents/${workflow.agent_id}`));
  return (await here.alice.ok(here.alice.get(`/api/custom-tools/${agent.custom_tool_ids[0]}`))).name;
}
