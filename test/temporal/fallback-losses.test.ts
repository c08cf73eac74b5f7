import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, hangs, type ModelServer, says, startModelServer } from '../support/peers/model-server.ts';
import { answersOf, logsOf, openaiAt, outOfQuota, providerOf, WRITE_LINE } from '../support/runs/fallbacks.ts';
import { resultsOf, toolOf } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let second: ModelServer;
const workers: Child[] = [];
beforeAll(async () => {
  [here, second] = await Promise.all([startTestInstallation({ worker: false }), startModelServer()]);
});
afterEach(async () => {
  for (const worker of workers.splice(0)) await worker.end('SIGKILL');
});
afterAll(async () => {
  await second.stop();
  await here.stop();
});

const startWorker = async () => void workers.push(await startWorkerProcess(here.setting));

/** A run with one call that writes, whose model then has no quota left; the second model has one more call. */
async function runThatFalls() {
  await startWorker();
  const provider_id = await providerOf(here.alice, openaiAt(here.model.url));
  const fallbacks = [{ on: ['quota'], provider_id: await providerOf(here.alice, openaiAt(second.url)) }];
  const id = await here.workflow({ agent: { provider_id, model: null, fallbacks }, tools: [WRITE_LINE] });
  const { name } = await toolOf(here, id);
  const asksToWrite = (text: string) => asks({ name, args: { text } });
  return { id, asksToWrite };
}

const endsWithTwoLines = async (id: string, task_id: string) => {
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Two lines.' });
  expect(await resultsOf(here, id)).toEqual(['{"result": 1}', '{"result": 2}']);
  expect(await logsOf(here, task_id, 'fallback')).toHaveLength(1);
  const places = (await answersOf(here, task_id)).map(({ fallback }: { fallback: number }) => fallback);
  expect(places).toEqual([0, 1, 1]);
};

it('a worker that is killed right after the switch does not undo it: the next one asks the fallback, and no call is made again', async () => {
  const { id, asksToWrite } = await runThatFalls();
  const [before, before_second] = [here.model.requests.length, second.requests.length];
  here.model.script(asksToWrite('one'), outOfQuota);
  second.script(hangs('Half of '), asksToWrite('two'), says('Two lines.'));
  const task_id = await here.prompt(id);
  await until('the fallback is asked', async () => second.requests.length > before_second);
  await workers.shift()!.end('SIGKILL');
  await startWorker();
  await endsWithTwoLines(id, task_id);
  expect([here.model.requests.length - before, second.requests.length - before_second]).toEqual([2, 3]);
}, 90_000);

it('a worker that is killed before the switch is on record leaves it to the next one', async () => {
  const { id, asksToWrite } = await runThatFalls();
  const [before, before_second] = [here.model.requests.length, second.requests.length];
  here.model.script(asksToWrite('one'), hangs(), outOfQuota);
  second.script(asksToWrite('two'), says('Two lines.'));
  const task_id = await here.prompt(id);
  await until('the failing request has begun', async () => here.model.requests.length - before === 2);
  await workers.shift()!.end('SIGKILL');
  await startWorker();
  await endsWithTwoLines(id, task_id);
  expect([here.model.requests.length - before, second.requests.length - before_second]).toEqual([3, 2]);
}, 90_000);
