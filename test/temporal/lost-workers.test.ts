import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, says } from '../support/peers/model-server.ts';
import { PNG } from '../support/runs/attachments.ts';
import { until } from '../support/until.ts';

/** What is not as quick to show as that a run survives its worker: see worker-loss.test.ts. Each test leaves a worker to the next. */
let here: TestInstallation;
let worker: Child;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
  worker = await startWorkerProcess(here.setting);
});
afterAll(async () => {
  await worker?.end('SIGKILL');
  await here?.stop();
});

/** Ends the worker, and starts another one. */
async function replaceWorker(signal: NodeJS.Signals): Promise<void> {
  expect(await worker.end(signal)).toBe(signal === 'SIGTERM' ? 0 : null);
  worker = await startWorkerProcess(here.setting);
}

const taskOf = (task_id: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));

/** A run whose write tool is running. */
async function paying(): Promise<string> {
  const workflow_id = await here.workflow({ tools: ['import time\ndef pay() -> str:\n    time.sleep(20)\n    return "paid"\n'] });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  here.model.script(asks({ name }));
  const task_id = await here.prompt(workflow_id);
  await here.events(task_id, { enough: ({ data }) => data.event === 'tool_call' });
  return task_id;
}

it('asks for the result of write tools whose worker died, and continues as decided or is halted meanwhile', async () => {
  const [task_id, other] = [await paying(), await paying()];
  await replaceWorker('SIGKILL');
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
  here.model.script(says('a slow answer that takes its time', { pause_ms: 150 }));
  const task_id = await here.prompt(await here.workflow());
  await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
  await replaceWorker('SIGTERM');
  expect(await here.ended(task_id, 40_000)).toMatchObject({ status: 'completed', response: 'a slow answer that takes its time' });
}, 90_000);

it('gives the files of a prompt to the next worker if one is killed while the model answers', async () => {
  here.model.script(hangs('Half'), says('Whole.'));
  const asked = here.model.requests.length;
  const attachments = [{ data: `data:image/png;base64,${PNG.toString('base64')}` }];
  const task_id = await here.prompt(await here.workflow(), 'Look.', { attachments });
  await until('the model is asked', async () => here.model.requests.length > asked, 40_000);
  await replaceWorker('SIGKILL');
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Whole.' });
  const [first, second, ...more] = here.model.requests.slice(asked);
  expect(more).toEqual([]);
  expect(second!.messages).toEqual(first!.messages);
  expect(JSON.stringify(second!.messages)).toContain(PNG.toString('base64'));
}, 120_000);
