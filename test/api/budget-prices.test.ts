import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

const PRICE = { input: 3, output: 7 };

let here: TestInstallation;
beforeAll(async () => {
  // Bob administers.
  here = await startTestInstallation({ worker: false, env: { ADMIN_SUBJECTS: 'local:bob' } });
  await here.alice.ok(here.alice.get('/api/me'));
  await here.bob.ok(here.bob.get('/api/me'));
});
beforeEach(() => here.sql('DELETE FROM budgets'));
afterAll(() => here?.stop());

/** A provider with the default model `scripted`, by its name and id. */
async function provider(price_table: object, client: Client = here.alice) {
  const body = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted', price_table };
  const name = here.unique('provider');
  return { name, id: (await client.ok(client.post('/api/providers', { ...body, name }), 201)).id as string };
}
const workflow = async (agent_id: string, values: object = {}, client: Client = here.alice) =>
  (await client.ok(client.post('/api/workflows', { agent_id, ...values }), 201)).id as string;
const schedule = async (workflow_id: string) => {
  const body = { name: here.unique('schedule'), workflow_id, prompt: 'x', interval_value: 1, interval_unit: 'weeks' };
  return here.alice.ok(here.alice.post('/api/scheduled-agents', { ...body, start_at: '2999-01-01T00:00:00Z' }), 201);
};
const create = (who: Client, values: object) =>
  who.post('/api/budgets', { name: 'Day', period: 'day', limit_usd: 53, ...values });
const made = async (who: Client, values: object) => (await who.ok(create(who, values), 201)) as Record<string, any>;
const warnings = (body: Record<string, any>) => (body.warnings ?? []) as { path: string; message: string }[];
const sentence = (model: string, of: string) =>
  `No price is known for the model ${model} of the provider ${of}, so a limit in dollars cannot hold. Set its price in the provider's \`price_table\`, or limit tokens with \`limit_tokens\` instead of \`limit_usd\``;
const refused = (message: string) => ({
  status: 422,
  body: { code: 'unpriced_model', errors: [{ path: 'limit_usd', message }] },
});
const waits = (model: string, of: string) => ({
  path: 'limit_usd',
  message: `${sentence(model, of)}. Runs that ask it wait before they do`,
});

describe('a budget in dollars over a model without a price', () => {
  it('is refused if it limits a workflow, a schedule or an agent that asks it', async () => {
    const { id: provider_id, name } = await provider({ known: PRICE });
    const agent_id = await here.agent({ provider_id });
    const workflow_id = await workflow(agent_id, { model: 'large' });
    const { id: schedule_id } = await schedule(workflow_id);
    const cases = [
      ['workflow', workflow_id, 'large', here.alice],
      ['schedule', schedule_id, 'large', here.alice],
      ['agent', agent_id, 'scripted', here.bob],
    ] as const;
    for (const [scope, subject_id, model, who] of cases) {
      expect(await create(who, { scope, subject_id })).toMatchObject(refused(sentence(model, name)));
      expect(warnings(await made(who, { scope, subject_id, limit_usd: null, limit_tokens: 59 }))).toEqual([]);
    }
    expect(await here.alice.ok(here.alice.get('/api/budgets'))).toHaveLength(3);
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { price_table: { '*': PRICE } }));
    for (const [scope, subject_id, , who] of cases) expect(warnings(await made(who, { scope, subject_id }))).toEqual([]);
  });

  it('is refused at a change of the limit; other fields can be changed, with a warning', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const subject_id = await workflow(await here.agent({ provider_id }));
    const { id } = await made(here.alice, { scope: 'workflow', subject_id });
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { price_table: {} }));
    const change = (values: object) => here.alice.put(`/api/budgets/${id}`, values);
    expect(await change({ limit_usd: 59 })).toMatchObject(refused(sentence('scripted', name)));
    const renamed = await here.alice.ok(change({ name: 'Renamed', limit_usd: 53 }));
    expect([renamed.name, warnings(renamed)]).toEqual(['Renamed', [waits('scripted', name)]]);
    expect(warnings(await here.alice.ok(here.alice.get(`/api/budgets/${id}`)))).toEqual([waits('scripted', name)]);
  });

  it('warns about models of the caller’s workflows, and of no one else’s, if it limits a person, a key or an agent', async () => {
    const unpriced = await provider({ scripted: PRICE });
    const agent_id = await here.agent({ provider_id: unpriced.id });
    await workflow(agent_id, { model: 'of-alice' });
    await workflow(agent_id, { model: 'of-alice' });
    await workflow(agent_id, { model: 'of-bob' }, here.bob);
    const { id: key_id } = await here.alice.ok(here.alice.post('/api/keys', { name: here.unique('key') }), 201);
    const mine = { scope: 'person', subject_id: 'local:alice' };
    const of = (budget: Record<string, any>) => warnings(budget).filter(({ message }) => message.includes(unpriced.name));
    const about = (model: string) => [waits(model, unpriced.name)];
    expect(of(await made(here.alice, mine))).toEqual(about('of-alice'));
    expect(of(await made(here.alice, { scope: 'service_key', subject_id: key_id }))).toEqual(about('of-alice'));
    expect(of(await made(here.bob, { scope: 'person' }))).toEqual(about('of-bob'));
    expect(warnings(await made(here.bob, mine))).toEqual([]);
    expect(of(await made(here.bob, { scope: 'agent', subject_id: agent_id }))).toEqual(about('of-bob'));
    expect(of(await made(here.bob, { scope: 'installation', limit_usd: null, limit_tokens: 61 }))).toEqual([]);
  });

  it('warns about models of agents, which everyone may see, if it limits the installation', async () => {
    await here.sql('DELETE FROM workflows');
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    await here.agent({ provider_id });
    await here.agent({ provider_id, model: 'large' });
    const about = warnings(await made(here.bob, { scope: 'installation' })).filter(({ message }) => message.includes(name));
    expect(about).toEqual([waits('large', name)]);
  });
});

describe('a model that a budget in dollars cannot count', () => {
  const uncounted = (budget: string, model: string, of: string, path: string) => ({
    path,
    message: `The budget ${budget} limits dollars: ${sentence(model, of)}. Runs that count in it wait before they ask the model`,
  });

  it('is warned about at save of a workflow and its schedule, by the budgets that apply and that the caller may see', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const agent_id = await here.agent({ provider_id });
    const id = await workflow(agent_id);
    const other = await workflow(agent_id);
    const { id: schedule_id } = await schedule(id);
    await made(here.alice, { scope: 'workflow', subject_id: id, name: 'Its own' });
    await made(here.alice, { scope: 'schedule', subject_id: schedule_id, name: 'Its schedule' });
    await made(here.alice, { scope: 'workflow', subject_id: other, name: 'Another workflow' });
    await made(here.alice, { scope: 'person', name: 'In tokens', limit_usd: null, limit_tokens: 61 });
    await made(here.bob, { scope: 'agent', subject_id: agent_id, name: 'Its agent' });
    await made(here.bob, { scope: 'person', name: 'Of Bob' });
    const set = (values: object) => here.alice.ok(here.alice.put(`/api/workflows/${id}`, values));
    const names = ['Its own', 'Its schedule', 'Its agent'];
    const expected = (path: string) => names.map((budget) => uncounted(budget, 'large', name, path));
    const changed = await set({ model: 'large' });
    expect([changed.model, warnings(changed)]).toEqual(['large', expected('model')]);
    expect(warnings(await here.alice.ok(here.alice.get(`/api/workflows/${id}`)))).toEqual(expected('model'));
    const saved = await here.alice.ok(here.alice.patch(`/api/scheduled-agents/${schedule_id}`, { prompt: 'y' }));
    expect(warnings(saved)).toEqual(expected('workflow_id'));
    expect(warnings(await schedule(id))).toEqual(expected('workflow_id'));
    expect(warnings(await set({ model: 'scripted' }))).toEqual([]);
    const strict = await here.alice.put(`/api/workflows/${id}`, { model: 'large' }, { prefer: 'handling=strict' });
    expect(strict).toMatchObject({ status: 422, body: { code: 'strict_handling' } });
  });

  it('is warned about at save of an agent and of a provider', async () => {
    const { id: provider_id, name } = await provider({ scripted: PRICE });
    const agent_id = await here.agent({ provider_id });
    const id = await workflow(agent_id);
    await made(here.alice, { scope: 'workflow', subject_id: id, name: 'Of Alice' });
    await made(here.bob, { scope: 'agent', subject_id: agent_id, name: 'Of the agent' });
    await made(here.bob, { scope: 'person', name: 'Of Bob' });
    const set = (path: string, values: object) => here.alice.ok(here.alice.put(`/api/${path}`, values));
    const expected = (model: string, path: string) =>
      ['Of Alice', 'Of the agent'].map((budget) => uncounted(budget, model, name, path));
    expect(warnings(await set(`agents/${agent_id}`, { model: 'large' }))).toEqual(expected('large', 'model'));
    expect(warnings(await set(`agents/${agent_id}`, { model: null }))).toEqual([]);
    expect(warnings(await set(`providers/${provider_id}`, { price_table: {} }))).toEqual(expected('scripted', 'price_table'));
    expect(warnings(await set(`providers/${provider_id}`, { price_table: { scripted: PRICE } }))).toEqual([]);
  });

  it('is warned about at save of a new agent that counts in a budget of the installation', async () => {
    const { id: provider_id, name } = await provider({});
    const agent = { name: here.unique('agent'), provider_id };
    await made(here.bob, { scope: 'installation', name: 'Everything' });
    const created = await here.alice.ok(here.alice.post('/api/agents', agent), 201);
    expect(warnings(created)).toEqual([uncounted('Everything', 'scripted', name, 'model')]);
  });
});
