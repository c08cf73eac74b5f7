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

/** A workflow whose model is followed by these providers, and then by one that answers. */
async function workflowBefore(...provider_ids: string[]) {
  await startWorker();
  const [provider_id, last_id] = [
    await providerOf(here.alice, openaiAt(here.model.url)),
    await providerOf(here.alice, openaiAt(second.url)),
  ];
  const fallbacks = [...provider_ids, last_id].map((id) => ({ on: ['quota'], provider_id: id }));
  return { id: await here.workflow({ agent: { provider_id, model: null, fallbacks } }), last_id };
}

it('a fallback whose key was taken from it during the run is passed over, and the event names the key', async () => {
  const name = `taken-${crypto.randomUUID()}`;
  const token = await here.alice.ok(here.alice.post('/api/tokens', { name, value: `canary-${name}` }), 201);
  const keyed_id = await providerOf(here.alice, openaiAt(second.url, { api_key_token_name: name, default_model: 'keyed' }));
  const { id, last_id } = await workflowBefore(keyed_id);
  const grants = await here.alice.ok(here.alice.get(`/api/tokens/${token.id}/grants`));
  const before = second.requests.length;
  here.model.script(async (response, request) => {
    await here.alice.del(`/api/tokens/${token.id}/grants/${grants[0].id}`);
    await outOfQuota(response, request);
  });
  second.script(says('From the last.'));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'From the last.' });
  const [to_keyed, next] = await logsOf(here, task_id, 'fallback');
  expect(to_keyed.to).toMatchObject({ provider_id: keyed_id, position: 1 });
  expect(next).toMatchObject({ from: { provider_id: keyed_id }, to: { provider_id: last_id, position: 2 } });
  expect(next.detail).toContain(name);
  expect(JSON.stringify(next)).not.toContain('canary');
  expect(second.requests.slice(before).map(({ model }) => model)).toEqual(['scripted']);
}, 90_000);

it('a fallback whose provider is gone is passed over, and the event names its id', async () => {
  const gone_id = await providerOf(here.alice, openaiAt(second.url, { default_model: 'gone' }));
  const { id, last_id } = await workflowBefore(gone_id);
  // The API refuses it while an agent names it; a database that was repaired by hand does not.
  await here.sql('DELETE FROM providers WHERE id = $1', gone_id);
  const before = second.requests.length;
  here.model.script(outOfQuota);
  second.script(says('From the last.'));
  const task_id = await here.prompt(id);
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'From the last.' });
  const [, next] = await logsOf(here, task_id, 'fallback');
  expect(next).toMatchObject({ reason: 'quota', to: { provider_id: last_id, position: 2 } });
  expect(next.detail).toContain(`No provider with id ${gone_id}`);
  expect(second.requests.slice(before).map(({ model }) => model)).toEqual(['scripted']);
}, 90_000);
