import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { versionsAt } from '../support/runs/versions.ts';
import { until } from '../support/until.ts';

const PRICE = { input: 3, output: 7 };
const BUDGET = { max_cost_usd: 11 };
const PATH = 'budget.max_cost_usd';

let here: TestInstallation;
let at: ReturnType<typeof versionsAt>;
beforeAll(async () => {
  here = await shareInstallation();
  at = versionsAt(here);
});
beforeEach(() => here.model.always(says('done')));
afterAll(() => here?.stop());

/** A provider with the default model `scripted`, by its name and id. */
async function provider(price_table: object, client: Client = here.alice) {
  const body = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted', price_table };
  const name = here.unique('provider');
  return { name, id: (await client.ok(client.post('/api/providers', { ...body, name }), 201)).id as string };
}
const create = (agent_id: string, workflow: object, client: Client = here.alice) =>
  client.post('/api/workflows', { agent_id, output_format: 'markdown', ...workflow });
const workflow = async (agent: object, values: object = {}) => here.workflow({ agent, workflow: values });
const set = (path: string, body: object, headers?: Record<string, string>) => here.alice.put(`/api/${path}`, body, headers);
const get = (path: string) => here.alice.ok(here.alice.get(`/api/${path}`));
const sentence = (model: string, of: string) =>
  `No price is known for the model ${model} of the provider ${of}, so a limit in dollars cannot hold. Set its price in the provider's \`price_table\`, or limit tokens with \`max_tokens\` instead of \`max_cost_usd\``;
const refused = (path: string, message: unknown) => ({
  status: 422,
  body: { code: 'unpriced_model', errors: [{ path, message }] },
});
const warnings = (body: Record<string, any>) => (body.warnings ?? []) as { path: string; message: string }[];

describe('a limit in dollars over a model without a price is refused', () => {
  it.each([
    ['the provider’s default model', { known: PRICE }, {}, {}, 'scripted'],
    ['the agent’s model', { scripted: PRICE }, { model: 'large' }, {}, 'large'],
    ['the workflow’s model', { scripted: PRICE, large: PRICE }, { model: 'large' }, { model: 'huge' }, 'huge'],
    ['a longer name than the priced one', { scripted: PRICE }, {}, { model: 'scripted-pro' }, 'scripted-pro'],
  ])('at save of a workflow: %s', async (_, price_table, agent, values, model) => {
    const { id, name } = await provider(price_table);
    const agent_id = await here.agent({ provider_id: id, ...agent });
    const before = await get('workflows');
    expect(await create(agent_id, { ...values, budget: BUDGET })).toMatchObject(refused(PATH, sentence(model, name)));
    expect(await get('workflows')).toHaveLength(before.length);
    expect((await create(agent_id, { ...values, budget: { max_tokens: 13 } })).status).toBe(201);
    await here.alice.ok(set(`providers/${id}`, { price_table: { ...price_table, [model]: PRICE } }));
    expect((await create(agent_id, { ...values, budget: BUDGET })).status).toBe(201);
  });

  it.each(['agent', 'provider'])('at save of a workflow: a fallback of its %s', async (lister) => {
    const own = await provider({ scripted: PRICE, small: PRICE });
    const other = await provider({ known: PRICE });
    const on = ['quota'];
    const fallbacks = [
      { on, model: 'small' },
      { on, provider_id: other.id },
    ];
    const agent_id = await here.agent({ provider_id: own.id, ...(lister === 'agent' ? { fallbacks } : {}) });
    if (lister === 'provider') await at.set(`providers/${own.id}`, { fallbacks });
    expect(await create(agent_id, { budget: BUDGET })).toMatchObject(refused(PATH, sentence('scripted', other.name)));
    await at.set(`providers/${other.id}`, { price_table: { scripted: PRICE } });
    await at.set(`providers/${own.id}`, { price_table: { scripted: PRICE } });
    expect(await create(agent_id, { budget: BUDGET })).toMatchObject(refused(PATH, sentence('small', own.name)));
    await at.set(`providers/${own.id}`, { price_table: { '*': PRICE } });
    expect((await create(agent_id, { budget: BUDGET })).status).toBe(201);
  });

  it('of the default runtime, which has no prices', async () => {
    const agent_id = await here.agent({ provider_id: null });
    const message = expect.stringMatching(
      /^No price is known for the default model of the default runtime.*Give the agent a provider/,
    );
    expect(await create(agent_id, { budget: BUDGET })).toMatchObject(refused(PATH, message));
    expect((await create(agent_id, { budget: { max_seconds: 17 } })).status).toBe(201);
  });

  it('but not over one whose price is that of every other model, or zero', async () => {
    const { id: provider_id } = await provider({ '*': { input: 0, output: 0 } });
    expect((await create(await here.agent({ provider_id }), { budget: BUDGET, model: 'any' })).status).toBe(201);
  });

  it('at a change of the budget, the model or the agent, which changes nothing', async () => {
    const priced = await provider({ scripted: PRICE });
    const unpriced = await provider({});
    const id = await workflow({ provider_id: priced.id }, { budget: BUDGET, title: 'Before' });
    const agent_id = await here.agent({ provider_id: unpriced.id });
    expect(await set(`workflows/${id}`, { title: 'After', model: 'large' })).toMatchObject(
      refused(PATH, sentence('large', priced.name)),
    );
    expect(await set(`workflows/${id}`, { title: 'After', agent_id })).toMatchObject(
      refused(PATH, sentence('scripted', unpriced.name)),
    );
    const other = await workflow({ provider_id: unpriced.id }, { title: 'Before' });
    expect(await set(`workflows/${other}`, { title: 'After', budget: BUDGET })).toMatchObject(
      refused(PATH, sentence('scripted', unpriced.name)),
    );
    expect([(await get(`workflows/${id}`)).title, (await get(`workflows/${other}`)).title]).toEqual(['Before', 'Before']);
    expect((await set(`workflows/${id}`, { model: 'large', budget: { max_tokens: 19 } })).status).toBe(200);
  });

  it('but other fields of a workflow whose limit no longer holds can be changed, with a warning', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const id = await workflow({ provider_id }, { budget: BUDGET });
    await here.alice.ok(set(`providers/${provider_id}`, { price_table: {} }));
    const warning = { path: PATH, message: expect.stringMatching(`${name}.*Its runs wait or halt`) };
    expect(warnings(await here.alice.ok(set(`workflows/${id}`, { title: 'Renamed', budget: { ...BUDGET } })))).toEqual([warning]);
    expect(warnings(await get(`workflows/${id}`))).toEqual([warning]);
    expect(await set(`workflows/${id}`, { budget: { max_cost_usd: 23 } })).toMatchObject({ status: 422 });
    expect(warnings(await here.alice.ok(set(`workflows/${id}`, { budget: null })))).toEqual([]);
  });

  it('at an import, with or without its agent', async () => {
    const { id: provider_id, name } = await provider({ known: PRICE });
    const agent_id = await here.agent({ provider_id });
    const item = { title: 'Imported', budget: BUDGET };
    const stored = await here.alice.ok(here.alice.post('/api/workflows/import', { items: [{ ...item, agent_id }] }));
    expect(stored).toMatchObject({ created: 0, errors: [`workflows.0 (Imported): ${PATH}: ${sentence('scripted', name)}`] });
    const agents = [
      { id: 'first', name: here.unique('agent'), provider_id },
      { id: 'second', name: here.unique('agent'), provider_id, model: 'known' },
    ];
    const workflows = agents.map(({ id }) => ({ ...item, agent_id: id }));
    const result = await here.alice.ok(here.alice.post('/api/import', { version: '1.0', agents, workflows }));
    expect(result.agents).toMatchObject({ created: 2, errors: [] });
    expect(result.workflows).toMatchObject({ created: 1, errors: [expect.stringContaining('workflows.0 (Imported)')] });
  });

  it('at the restore of a version, which changes neither workflow nor agent', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const id = await workflow({ provider_id, system_prompt: 'Old.' }, { budget: BUDGET, max_turns: 29 });
    const agent_id = await at.agentOf(id);
    await at.set(`workflows/${id}`, { budget: null, max_turns: 31 });
    await at.set(`agents/${agent_id}`, { system_prompt: 'New.', model: 'large' });
    expect(await at.restore(id, 1, { agent: 'keep' })).toMatchObject(refused(PATH, sentence('large', name)));
    await at.set(`providers/${provider_id}`, { price_table: { large: PRICE } });
    expect(await at.restore(id, 1, { agent: 'change' })).toMatchObject(refused(PATH, sentence('scripted', name)));
    expect(await get(`workflows/${id}`)).toMatchObject({ budget: null, max_turns: 31 });
    expect(await get(`agents/${agent_id}`)).toMatchObject({ system_prompt: 'New.' });
    expect((await at.restore(id, 1, { agent: 'keep' })).status).toBe(200);
  });

  it('at the save of a schedule and when it is enabled, but it can be disabled and renamed', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const workflow_id = await workflow({ provider_id }, { budget: BUDGET });
    const values = {
      workflow_id,
      prompt: 'Go.',
      interval_value: 37,
      interval_unit: 'days',
      start_at: '2051-01-01T00:00:00.000Z',
    };
    const { id } = await here.alice.ok(here.alice.post('/api/scheduled-agents', { ...values, name: here.unique('kept') }), 201);
    await at.set(`providers/${provider_id}`, { price_table: {} });
    const message = sentence('scripted', name);
    const patch = (path: string, body?: object) => here.alice.patch(`/api/scheduled-agents/${id}${path}`, body);
    expect(await here.alice.post('/api/scheduled-agents', { ...values, name: here.unique('new') })).toMatchObject(
      refused('workflow_id', message),
    );
    const renamed = await here.alice.ok(patch('', { name: here.unique('renamed') }));
    expect(warnings(renamed)).toContainEqual({ path: 'workflow_id', message: expect.stringContaining(message) });
    await here.alice.ok(patch('/disable'));
    expect(await patch('/enable')).toMatchObject(refused('workflow_id', message));
    await at.set(`providers/${provider_id}`, { price_table: { '*': PRICE } });
    expect((await patch('/enable')).status).toBe(200);
  });

  it('at a fork that changes the model or the provider', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const other = await provider({});
    const task = await here.ended(await here.prompt(await workflow({ provider_id }, { budget: BUDGET })));
    const fork = (changes: object) => here.alice.post(`/api/tasks/${task.id}/fork`, { from_step: 1, changes });
    expect(await fork({ model: 'large' })).toMatchObject(refused('changes.model', sentence('large', name)));
    expect(await fork({ provider_id: other.id })).toMatchObject(refused('changes.provider_id', sentence('scripted', other.name)));
    await at.set(`providers/${other.id}`, { price_table: { scripted: PRICE } });
    await here.ended((await here.alice.ok(fork({ provider_id: other.id }), 201)).task_id);
    await here.ended((await here.alice.ok(fork({ system_prompt: 'Be brief.' }), 201)).task_id);
  });

  it('for a run that waits, until its provider has a price', async () => {
    const { id: provider_id, name } = await provider({});
    const id = await workflow({ provider_id }, { budget: { max_tokens: 2 } });
    const task_id = await here.prompt(id, 'A prompt of more than two tokens.');
    await until('the wait', async () => (await get(`tasks/${task_id}`)).status === 'waiting');
    const raise = (body: object) => here.alice.post(`/api/tasks/${task_id}/budget`, body);
    expect(await raise(BUDGET)).toMatchObject(refused('max_cost_usd', sentence('scripted', name)));
    expect((await get(`tasks/${task_id}`)).budget).toMatchObject({ max_tokens: 2, max_cost_usd: null });
    await at.set(`providers/${provider_id}`, { price_table: { scripted: PRICE } });
    await here.alice.ok(raise(BUDGET));
    expect((await here.ended(task_id)).status).toBe('completed');
  });

  it('for a run that waits, until its fallbacks have a price', async () => {
    const { id: provider_id } = await provider({ scripted: PRICE });
    const other = await provider({});
    const fallbacks = [{ on: ['quota'], provider_id: other.id }];
    const id = await workflow({ provider_id, fallbacks }, { budget: { max_tokens: 2 } });
    const task_id = await here.prompt(id, 'A prompt of more than two tokens.');
    await until('the wait', async () => (await get(`tasks/${task_id}`)).status === 'waiting');
    const raise = (body: object) => here.alice.post(`/api/tasks/${task_id}/budget`, body);
    expect(await raise(BUDGET)).toMatchObject(refused('max_cost_usd', sentence('scripted', other.name)));
    await at.set(`providers/${other.id}`, { price_table: { scripted: PRICE } });
    await here.alice.ok(raise(BUDGET));
    expect((await here.ended(task_id)).status).toBe('completed');
  });
});

describe('a change of an agent or provider that breaks a limit in dollars', () => {
  it('succeeds with a warning for each of the caller’s workflows, and for nobody else’s', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const agent_id = await here.agent({ provider_id });
    const own = { title: here.unique('own'), budget: BUDGET };
    await here.alice.ok(create(agent_id, own), 201);
    await here.alice.ok(create(agent_id, { title: here.unique('free'), budget: { max_tokens: 41 } }), 201);
    const of_bob = { title: here.unique('bobs'), budget: BUDGET };
    await here.bob.ok(create(agent_id, of_bob, here.bob), 201);
    const message = `The budget of your workflow ${own.title} limits dollars: ${sentence('large', name)}. Its runs wait or halt before they ask the model`;
    const agent = await here.alice.ok(set(`agents/${agent_id}`, { model: 'large' }));
    expect(warnings(agent)).toEqual([{ path: 'model', message }]);
    expect(agent.model).toBe('large');
    expect(warnings(await here.bob.ok(here.bob.get(`/api/agents/${agent_id}`)))).toEqual([
      { path: 'model', message: expect.stringContaining(of_bob.title) },
    ]);
    expect(warnings(await here.alice.ok(set(`agents/${agent_id}`, { model: null })))).toEqual([]);
    const changed = await here.alice.ok(set(`providers/${provider_id}`, { price_table: { large: PRICE } }));
    expect(warnings(changed)).toEqual([{ path: 'price_table', message: expect.stringContaining(`${own.title} limits dollars`) }]);
    expect(warnings(await here.alice.ok(set(`providers/${provider_id}`, { default_model: 'large' })))).toEqual([]);
  });

  it('names the fallback without a price, both of an agent and of a provider', async () => {
    const own = await provider({ scripted: PRICE });
    const other = await provider({ scripted: PRICE });
    const agent_id = await here.agent({ provider_id: own.id });
    const title = here.unique('limited');
    await here.alice.ok(create(agent_id, { title, budget: BUDGET }), 201);
    const broken = (path: string, model: string, of: string) => [
      { path, message: expect.stringContaining(`${title} limits dollars: ${sentence(model, of)}`) },
    ];
    const fallbacks = [{ on: ['quota'], provider_id: other.id, model: 'large' }];
    const agent = await here.alice.ok(set(`agents/${agent_id}`, { fallbacks }));
    expect(warnings(agent)).toEqual(broken('fallbacks.0', 'large', other.name));
    const priced = await here.alice.ok(set(`providers/${other.id}`, { price_table: { large: PRICE } }));
    expect(warnings(priced)).toEqual([]);
    const unpriced = await here.alice.ok(set(`providers/${other.id}`, { price_table: {} }));
    expect(warnings(unpriced)).toEqual(broken('price_table', 'large', other.name));
    await at.set(`agents/${agent_id}`, { fallbacks: [] });
    const listing = await here.alice.ok(
      set(`providers/${own.id}`, { fallbacks: [{ on: ['quota'], model: 'small' }, ...fallbacks] }),
    );
    expect(warnings(listing)).toEqual(broken('fallbacks.0', 'small', own.name));
    await at.set(`providers/${own.id}`, { price_table: { '*': PRICE } });
    expect(warnings(await get(`providers/${other.id}`))).toEqual(broken('price_table', 'large', other.name));
  });

  it('fails with strict handling', async () => {
    const { id: provider_id } = await provider({ scripted: PRICE });
    await workflow({ provider_id }, { budget: BUDGET });
    const strict = { prefer: 'handling=strict' };
    expect((await set(`providers/${provider_id}`, { price_table: {} }, strict)).status).toBe(422);
    expect((await get(`providers/${provider_id}`)).price_table).toEqual({ scripted: PRICE });
  });
});

describe('an alert on spending', () => {
  const alert = (values: object) => ({ name: here.unique('alert'), measure: 'spend', threshold: 43, ...values });

  it('is refused for a workflow whose model has no price', async () => {
    const { id: provider_id, name } = await provider({});
    const workflow_id = await workflow({ provider_id });
    const message = `No price is known for the model scripted of the provider ${name}, so nobody can measure what its runs spend. Set its price in the provider's \`price_table\``;
    expect(await here.alice.post('/api/alerts', alert({ workflow_id }))).toMatchObject(refused('workflow_id', message));
    const { id } = await here.alice.ok(here.alice.post('/api/alerts', alert({ workflow_id, measure: 'backlog' })), 201);
    expect(await set(`alerts/${id}`, { measure: 'spend' })).toMatchObject(refused('workflow_id', message));
    await at.set(`providers/${provider_id}`, { price_table: { scripted: PRICE } });
    expect((await set(`alerts/${id}`, { measure: 'spend' })).status).toBe(200);
  });

  it('on all workflows warns about those whose costs are not counted', async () => {
    const { id: provider_id } = await provider({});
    const title = here.unique('uncounted');
    await workflow({ provider_id }, { title });
    const made = await here.alice.ok(here.alice.post('/api/alerts', alert({})), 201);
    expect(warnings(made)).toContainEqual({ path: 'measure', message: expect.stringContaining(`${title} costs is not counted`) });
    const of_bob = await here.bob.ok(here.bob.post('/api/alerts', alert({})), 201);
    expect(warnings(of_bob).filter(({ message }) => message.includes(title))).toEqual([]);
  });
});
