import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { rebuildTexts, type StreamedEvent } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';

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
  expect(rebuildTexts(events)).toEqual({ texts: ['', 'All of it.'], unfinished: '' });
  expect(gaps(events)).toEqual([]);
  expect(here.model.requests.length - before).toBe(3);
}, 90_000);

const gaps = (events: StreamedEvent[]) => events.filter(({ id }, index) => index > 0 && id !== events[index - 1]!.id + 1);
