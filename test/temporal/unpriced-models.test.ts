import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, says } from '../support/peers/model-server.ts';
import { outOfQuota } from '../support/runs/fallbacks.ts';
import { until } from '../support/until.ts';

// The scripted model says that it is `scripted`, uses 10 tokens to read and 5 to write.
const PRICE = { input: 700_000, output: 0 };
const BUDGET = { max_cost_usd: 9_973 };
const LOOK = 'EFFECT = "read"\ndef look() -> str:\n    """Looks."""\n    return "seen"\n';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here?.stop());

const get = (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));
const setPrices = (id: string, price_table: object) => here.alice.ok(here.alice.put(`/api/providers/${id}`, { price_table }));
const waiting = (id: string) => until('the wait', async () => (await get(`tasks/${id}`)).status === 'waiting');
const raise = (id: string, body: object) => here.alice.post(`/api/tasks/${id}/budget`, body);
/** The events of one name in the log of a task. */
async function logged(id: string, name: string) {
  const { logs } = await get(`tasks/${id}?include=logs`);
  return (logs as { event: string }[]).filter(({ event }) => event === name);
}

async function provider(default_model: string, price_table: object) {
  const name = here.unique('gateway');
  const body = { name, provider_type: 'openai_compatible', base_url: here.model.url, default_model, price_table };
  return { name, id: (await here.alice.ok(here.alice.post('/api/providers', body), 201)).id as string };
}

/** Looks once, then answers. */
const looksOnce: Answer = (response, request) => {
  const has_looked = request.messages.some(({ role }) => role === 'tool');
  return (has_looked ? says('done') : asks({ name: request.tools![0]!.function.name }))(response, request);
};

/** A run whose provider has lost its price since its workflow was saved. */
async function withoutPrice(on_exhausted: string) {
  here.model.always(says('done'));
  const { id, name } = await provider('scripted', { scripted: PRICE });
  const workflow = await here.workflow({ agent: { provider_id: id }, workflow: { budget: { ...BUDGET, on_exhausted } } });
  await setPrices(id, {});
  const asked = here.model.requests.length;
  return { provider_id: id, name, asked, task_id: await here.prompt(workflow, 'Thirty-one words, or fewer.') };
}

it('a run with a limit in dollars waits before it asks a model without a price, until that has one', async () => {
  const { provider_id, name, asked, task_id } = await withoutPrice('wait');
  await waiting(task_id);
  expect(here.model.requests).toHaveLength(asked);
  const sentence = `No price is known for the model scripted of the provider ${name}`;
  expect(await logged(task_id, 'unpriced_model')).toEqual([
    expect.objectContaining({ step: 1, on_exhausted: 'wait', model: 'scripted', provider: name, tokens: expect.any(Number) }),
  ]);
  expect((await logged(task_id, 'unpriced_model'))[0]).toMatchObject({ detail: expect.stringContaining(sentence) });
  expect(await raise(task_id, BUDGET)).toMatchObject({ status: 422, body: { code: 'unpriced_model' } });
  await setPrices(provider_id, { scripted: PRICE });
  await here.alice.ok(raise(task_id, BUDGET));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', usage: { total_in: 10, cost: 7 } });
  expect(await logged(task_id, 'unpriced_model')).toHaveLength(1);
});

it('a run that waits for a price continues with a limit of tokens instead', async () => {
  const { task_id } = await withoutPrice('wait');
  await waiting(task_id);
  expect((await here.bob.post(`/api/tasks/${task_id}/budget`, { max_tokens: 10_007 })).status).toBe(403);
  await here.alice.ok(raise(task_id, { max_tokens: 10_007 }));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', usage: { total_in: 10 } });
});

it('a run that has to halt when its budget is used up halts before it asks a model without a price', async () => {
  const { asked, name, task_id } = await withoutPrice('halt');
  expect(await here.ended(task_id)).toMatchObject({
    status: 'halted',
    error_code: 'unpriced_model',
    error: expect.stringContaining(name),
  });
  expect(here.model.requests).toHaveLength(asked);
});

it('a run without a limit in dollars asks a model without a price', async () => {
  here.model.always(says('done'));
  const workflow_id = await here.workflow({ workflow: { budget: { max_tokens: 10_009 } } });
  expect((await here.ended(await here.prompt(workflow_id))).status).toBe('completed');
});

it('a gateway that answers with a model without a price is not asked again, until a person sets its price', async () => {
  here.model.always(looksOnce);
  const { id: provider_id, name } = await provider('auto', { auto: PRICE });
  const agent = { provider_id };
  const id = await here.workflow({ tools: [LOOK], agent, workflow: { budget: BUDGET } });
  const asked = here.model.requests.length;
  const task_id = await here.prompt(id);
  await waiting(task_id);
  expect(here.model.requests).toHaveLength(asked + 1);
  expect(await logged(task_id, 'unpriced_model')).toEqual([
    expect.objectContaining({ step: 2, model: 'scripted', provider: name }),
  ]);
  const usage = (await here.events(task_id, { enough: ({ type }) => type === 'usage' })).find(({ type }) => type === 'usage');
  expect(usage?.data).toMatchObject({ total_in: 10, cost: 0, priced: false });
  expect(await raise(task_id, BUDGET)).toMatchObject({
    status: 422,
    body: { errors: [{ path: 'max_cost_usd', message: expect.stringContaining('the model scripted') }] },
  });
  await setPrices(provider_id, { auto: PRICE, scripted: PRICE });
  await here.alice.ok(raise(task_id, BUDGET));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', usage: { total_in: 20, total_out: 10 } });
  expect(await logged(task_id, 'unpriced_model')).toHaveLength(1);
});

it('an answer of a fallback without a price is one of its provider, also if the run’s own one has a price for that name', async () => {
  const own = await provider('scripted', { scripted: PRICE });
  const gateway = await provider('auto', { auto: PRICE });
  const agent = {
    ...{ provider_id: own.id, model: null, builtin_tools: ['manage_todo_list'], fallback_minutes: 0 },
    fallbacks: [{ on: ['quota'], provider_id: gateway.id }],
  };
  const id = await here.workflow({ agent, workflow: { budget: BUDGET } });
  here.model.script(outOfQuota, asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('Planned.'));
  const task_id = await here.prompt(id);
  await waiting(task_id);
  expect(await logged(task_id, 'unpriced_model')).toEqual([
    expect.objectContaining({ step: 2, model: 'scripted', provider: gateway.name }),
  ]);
  const message = expect.stringContaining(`the model scripted of the provider ${gateway.name}`);
  expect(await raise(task_id, BUDGET)).toMatchObject({ status: 422, body: { errors: [{ path: 'max_cost_usd', message }] } });
  await setPrices(gateway.id, { auto: PRICE, scripted: PRICE });
  await here.alice.ok(raise(task_id, BUDGET));
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Planned.' });
  expect(await logged(task_id, 'unpriced_model')).toHaveLength(1);
});

it('the cost of a run without a price is unknown, never zero, and that of a partly priced run is what is known of it', async () => {
  here.model.always(looksOnce);
  const { id: provider_id } = await provider('auto', { auto: PRICE });
  const id = await here.workflow({ tools: [LOOK], agent: { provider_id } });
  const unpriced = { total_in: 20, cost: null, total_cost: null, priced: false };
  const task_id = await here.prompt(id);
  expect((await here.ended(task_id)).usage).toMatchObject(unpriced);
  const { priced, steps_detail } = await get(`tasks/${task_id}?include=steps`);
  expect([priced, ...steps_detail.map(({ usage }: { usage: object }) => usage)]).toMatchObject([
    ...[false, { cost: null, priced: false }, { cost: null, priced: false }],
  ]);
  expect((await get(`workflows/${id}`)).usage).toMatchObject(unpriced);
  expect((await get(`tasks?workflow_id=${id}`)).map(({ usage }: { usage: object }) => usage)).toMatchObject([unpriced]);
  const reported = async () => {
    await here.core.store.usage.count();
    const { rows } = await get('usage?by=workflow');
    return (rows as { key: string }[]).find(({ key }) => key === id);
  };
  expect(await reported()).toMatchObject({ runs: 1, cost: null, unpriced: 1, total_in: 20 });
  await setPrices(provider_id, { scripted: PRICE });
  expect((await here.ended(await here.prompt(id))).usage).toMatchObject({ cost: 14, priced: true });
  expect(await reported()).toMatchObject({ runs: 2, cost: 14, unpriced: 1, total_in: 40 });
});
