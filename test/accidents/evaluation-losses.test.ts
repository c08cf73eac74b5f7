import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { openEvaluations, promptOf } from '../support/runs/evaluations.ts';
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

const startWorker = async () => void workers.push(await startWorkerProcess(here.setting));

it('an evaluation whose worker is killed continues with another one: each item has one run, and none is graded twice', async () => {
  await startWorker();
  const { dataset, begin, ended } = openEvaluations(here);
  const items = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `item ${name}`);
  const dataset_id = await dataset(Object.fromEntries(items.map((item) => [item, item])));
  const workflow_id = await here.workflow({ workflow: { output_format: 'markdown' } });
  let hanging = true;
  const echo = (text: string) => text.match(/item \w/)?.[0] ?? '';
  here.model.always((response, request) => {
    const item = echo(promptOf(request));
    return (hanging && /[cd]$/.test(item) ? hangs('Half') : says(item))(response, request);
  });
  const path = await begin(dataset_id, { workflow_id, parallel: 2 });
  const states = async () => {
    const results = (await here.alice.ok(here.alice.get(`${path}/results`))) as any[];
    return results.map(({ status }) => status).sort();
  };
  const halfway = ['passed', 'passed', 'pending', 'pending', 'running', 'running'];
  await until('two passed and two hang', async () => JSON.stringify(await states()) === JSON.stringify(halfway), 60_000);
  await until('both have asked the model', async () => here.model.requests.length === 4);
  await workers.shift()!.end('SIGKILL');
  hanging = false;
  await startWorker();
  const { evaluation, results } = await ended(path, 90_000);
  expect(evaluation).toMatchObject({ status: 'completed', items: 6, passed: 6, failed: 0, errors: 0, pass_rate: 1 });
  const tasks = (await here.alice.ok(here.alice.get('/api/tasks?trigger=evaluation'))) as any[];
  expect(tasks.map(({ id }) => id).sort()).toEqual(results.map(({ task_id }) => task_id).sort());
}, 180_000);

it('a judge whose worker is killed continues on another one: each answer is judged in one run', async () => {
  await startWorker();
  const { dataset, begin, ended } = openEvaluations(here);
  const items = ['a', 'b', 'c'].map((name) => `answer ${name}`);
  const dataset_id = await dataset(Object.fromEntries(items.map((item) => [item, item])));
  const workflow_id = await here.workflow({ workflow: { output_format: 'markdown', title: 'Judged' } });
  const provider = { name: 'judges', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'judge' };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
  const before = here.model.requests.length;
  let hanging = true;
  here.model.always((response, request) => {
    if (request.model !== 'judge') return says(promptOf(request))(response, request);
    return (hanging ? hangs('{"pass"') : says('{"pass": true, "reason": "Right"}'))(response, request);
  });
  const path = await begin(dataset_id, { workflow_id, parallel: 3, graders: [{ type: 'model', provider_id }] });
  await until('all judges are asked', async () => here.model.requests.length === before + 6, 60_000);
  await workers.shift()!.end('SIGKILL');
  hanging = false;
  await startWorker();
  const { evaluation, results } = await ended(path, 90_000);
  expect(evaluation).toMatchObject({ status: 'completed', items: 3, passed: 3, errors: 0 });
  const tasks = (await here.alice.ok(here.alice.get('/api/tasks?trigger=evaluation'))) as any[];
  const judges = tasks.filter(({ workflow_title }) => workflow_title === 'Judge of Judged').map(({ id }) => id);
  expect(judges.sort()).toEqual(results.map(({ grades }) => grades[0].task_id).sort());
}, 180_000);
