import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { replaceKnownModels, SHIPPED_MODELS } from '../../src/domain/known-models.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { knownModel } from '../support/known-model.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(() => here.stop());

/** A day so many days from today. */
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
beforeEach(() =>
  replaceKnownModels([
    knownModel({ id: 'm-ending', ends_on: inDays(59), successor: 'm-8' }),
    knownModel({ id: 'm-ended', ends_on: inDays(-3) }),
    knownModel({ id: 'm-living', ends_on: inDays(67) }),
    knownModel({ id: 'm-thinking', efforts: ['low', 'high'] }),
  ]),
);
afterEach(() => replaceKnownModels(SHIPPED_MODELS));

const ENDING = `m-ending ends on ${inDays(59)}: openai stops answering for it, and runs fail from then on; choose another model, such as m-8, which openai recommends`;
const ENDED = `m-ended ended on ${inDays(-3)}: openai no longer answers for it, so runs fail; choose another model`;
const warnings = async (path: string, body: object, method: 'post' | 'put' = 'post') =>
  (await here.alice.ok(here.alice[method](path, body))).warnings ?? [];

const provider = (default_model: string | null, more: object = {}) => ({
  ...{ name: here.unique('vendor'), provider_type: 'openai', default_model },
  ...more,
});
const providerId = async (default_model: string | null, more: object = {}): Promise<string> =>
  (await here.alice.ok(here.alice.post('/api/providers', provider(default_model, more)))).id;
const agent = (provider_id: string | null, model: string | null) => ({ name: here.unique('agent'), provider_id, model });
const agentId = async (provider_id: string | null, model: string | null): Promise<string> =>
  (await here.alice.ok(here.alice.post('/api/agents', agent(provider_id, model)))).id;

it('a provider warns when its default model ends within 60 days or has ended', async () => {
  expect(await warnings('/api/providers', provider('m-ending'))).toEqual([{ path: 'default_model', message: ENDING }]);
  expect(await warnings('/api/providers', provider('m-ended'))).toEqual([{ path: 'default_model', message: ENDED }]);
  expect(await warnings('/api/providers', provider('m-living'))).toEqual([]);
  const id = await providerId('m-living');
  expect(await warnings(`/api/providers/${id}`, { default_model: 'm-ended' }, 'put')).toEqual([
    { path: 'default_model', message: ENDED },
  ]);
});

it('a server of one’s own keeps a model as long as it likes; a gateway passes the name on', async () => {
  const own = { provider_type: 'openai_compatible', base_url: 'http://127.0.0.1:9/v1' };
  expect(await warnings('/api/providers', provider('m-ended', own))).toEqual([]);
  expect(await warnings('/api/providers', provider('openai/m-ended', own))).toEqual([{ path: 'default_model', message: ENDED }]);
});

it('an agent warns about its own model, otherwise about its provider’s', async () => {
  const [ending, living] = [await providerId('m-ending'), await providerId('m-living')];
  expect(await warnings('/api/agents', agent(ending, null))).toEqual([{ path: 'model', message: ENDING }]);
  expect(await warnings('/api/agents', agent(ending, 'm-living'))).toEqual([]);
  expect(await warnings('/api/agents', agent(living, 'm-ended'))).toEqual([{ path: 'model', message: ENDED }]);
  expect(await warnings('/api/agents', agent(null, 'openai/m-ended'))).toEqual([{ path: 'model', message: ENDED }]);
});

it('a workflow warns about its own model, otherwise about its agent’s', async () => {
  const provider_id = await providerId('m-living');
  const agent_id = await agentId(provider_id, 'm-ending');
  expect(await warnings('/api/workflows', { agent_id })).toEqual([{ path: 'model', message: ENDING }]);
  expect(await warnings('/api/workflows', { agent_id, model: 'm-living' })).toEqual([]);
  const { id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id, model: 'm-living' }));
  expect(await warnings(`/api/workflows/${id}`, { model: 'm-ended' }, 'put')).toEqual([{ path: 'model', message: ENDED }]);
  expect((await here.alice.ok(here.alice.get(`/api/workflows/${id}`))).warnings).toEqual([{ path: 'model', message: ENDED }]);
});

it('a schedule warns about the model of its workflow', async () => {
  const agent_id = await agentId(await providerId('m-living'), 'm-ending');
  const { id: workflow_id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id }));
  const schedule = { name: 'daily', workflow_id, prompt: 'x', interval_value: 1, interval_unit: 'days' };
  const start_at = `${inDays(3)}T00:00:00Z`;
  const made = await here.alice.ok(here.alice.post('/api/scheduled-agents', { ...schedule, start_at }));
  expect(made.warnings).toContainEqual({ path: 'workflow_id', message: ENDING });
  await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { model: 'm-living' }));
  const changed = await here.alice.ok(here.alice.patch(`/api/scheduled-agents/${made.id}`, { prompt: 'y' }));
  expect(changed.warnings ?? []).not.toContainEqual({ path: 'workflow_id', message: ENDING });
});

it('an effort that the model is not known to take is kept and warned about, at save and at a prompt', async () => {
  const agent_id = await agentId(await providerId('m-thinking'), null);
  const refused = 'm-thinking is not known to take max, so its vendor may refuse it; it takes low, high';
  const path = 'reasoning_effort';
  expect(await warnings('/api/workflows', { agent_id, reasoning_effort: 'high' })).toEqual([]);
  expect(await warnings('/api/workflows', { agent_id, reasoning_effort: 'max' })).toEqual([{ path, message: refused }]);
  const unknown = { path, message: 'No model is known to take heroic; it is sent as it is' };
  expect(await warnings('/api/workflows', { agent_id, model: 'm-of-tomorrow', reasoning_effort: 'heroic' })).toEqual([unknown]);
  const { id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id }));
  expect(await warnings(`/api/workflows/${id}/prompt`, { prompt: 'x', reasoning_effort: 'max' })).toEqual([
    { path, message: refused },
  ]);
  expect((await here.alice.post('/api/workflows', { agent_id, reasoning_effort: 'very high' })).status).toBe(422);
});

it('an import warns about the models of its agents and workflows, also if an agent comes with its workflow', async () => {
  const [ending, living] = [await providerId('m-ending'), await providerId('m-living')];
  const agents = [
    { ...agent(ending, null), id: 'first' },
    { ...agent(living, null), id: 'second' },
  ];
  const workflows = [
    { agent_id: 'first' },
    { agent_id: 'second' },
    { agent_id: 'second', model: 'm-ended' },
    { agent_id: 'second', model: 'm-thinking', reasoning_effort: 'max' },
    { agent_id: await agentId(ending, null) },
  ];
  const bundle = { version: '1.0', agents, workflows };
  const refused = 'm-thinking is not known to take max, so its vendor may refuse it; it takes low, high';
  const expected = [
    { path: 'agents.0.model', message: ENDING },
    { path: 'workflows.0.model', message: ENDING },
    { path: 'workflows.2.model', message: ENDED },
    { path: 'workflows.3.reasoning_effort', message: refused },
    { path: 'workflows.4.model', message: ENDING },
  ];
  expect(await warnings('/api/import?dry_run=true', bundle)).toEqual(expected);
  expect(await warnings('/api/import', bundle)).toEqual(expected);
  expect(await warnings('/api/agents/import', { items: [agent(living, 'm-ended')] })).toEqual([
    { path: 'items.0.model', message: ENDED },
  ]);
  const strict = { prefer: 'handling=strict' };
  expect((await here.alice.post('/api/agents/import', { items: [agent(living, 'm-ended')] }, strict)).status).toBe(422);
});

it('the restore of a version warns about the model that its workflow asks from then on, before it changes anything', async () => {
  const agent_id = await agentId(await providerId('m-living'), 'm-ending');
  const { id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id, reasoning_effort: 'heroic' }));
  await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { reasoning_effort: null }));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { model: null }));
  const restore = `/api/workflows/${id}/versions/1/restore`;
  const unknown = { path: 'reasoning_effort', message: 'No model is known to take heroic; it is sent as it is' };
  const strict = await here.alice.post(restore, { agent: 'keep' }, { prefer: 'handling=strict' });
  expect(strict.status).toBe(422);
  expect(await here.alice.ok(here.alice.get(`/api/workflows/${id}`))).toMatchObject({ reasoning_effort: null });
  expect(await warnings(restore, { agent: 'keep' })).toEqual([unknown]);
  expect(await warnings(restore, { agent: 'change' })).toEqual([{ path: 'model', message: ENDING }, unknown]);
});

it('a restored agent warns about the other workflows whose limit in dollars no longer holds with it', async () => {
  const provider_id = await providerId('m-unpriced', { price_table: { 'm-priced': { input: 3, output: 7 } } });
  const agent_id = await agentId(provider_id, null);
  const { id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id }));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { model: 'm-priced' }));
  const limited = { agent_id, title: 'Limited', budget: { max_cost_usd: 5 } };
  await here.alice.ok(here.alice.post('/api/workflows', limited));
  const restore = `/api/workflows/${id}/versions/1/restore`;
  expect(await warnings(restore, { agent: 'keep' })).toEqual([]);
  expect(await warnings(restore, { agent: 'change' })).toEqual([
    { path: 'model', message: expect.stringContaining('The budget of your workflow Limited limits dollars') },
  ]);
});
