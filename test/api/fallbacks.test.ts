import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { openaiAt, providerOf } from '../support/runs/fallbacks.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here?.stop());

const on = ['overloaded'];
const spare = (more: object = {}) =>
  providerOf(here.alice, openaiAt('http://127.0.0.1:9/v1', { default_model: 'spare', ...more }));

async function refused(path: string, values: object): Promise<{ path: string; message: string }[]> {
  const { status, body } = await here.alice.post(path, { name: here.unique('refused'), ...values });
  expect(status).toBe(422);
  return body.errors;
}

describe('fallbacks of an agent', () => {
  it('are kept in their order, changed as a whole and cleared', async () => {
    const provider_id = await spare();
    const fallbacks = [
      { on: ['quota', 'deprecated'], provider_id, model: null },
      { on, provider_id, model: 'larger' },
    ];
    const { id } = await here.alice.ok(
      here.alice.post('/api/agents', { name: here.unique('kept'), fallbacks, fallback_minutes: 17 }),
      201,
    );
    expect(await here.alice.ok(here.alice.get(`/api/agents/${id}`))).toMatchObject({ fallbacks, fallback_minutes: 17 });
    const changed = await here.alice.ok(here.alice.put(`/api/agents/${id}`, { fallback_minutes: null }));
    expect(changed).toMatchObject({ fallbacks, fallback_minutes: null });
    expect(await here.alice.ok(here.alice.put(`/api/agents/${id}`, { fallbacks: [] }))).toMatchObject({ fallbacks: [] });
  });

  it('are refused with a sentence for each that no run could use', async () => {
    const own = await spare({ default_model: 'own' });
    const session = await providerOf(here.alice, { provider_type: 'anthropic', default_model: 'claude' });
    const nameless = await spare({ default_model: null });
    const nobody = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';
    const errors = await refused('/api/agents', {
      provider_id: own,
      fallbacks: [
        { on, provider_id: nobody },
        { on, provider_id: session },
        { on, provider_id: nameless },
        { on, provider_id: own },
        { on, model: 'other' },
        { on: ['quota'], provider_id: own, model: 'other' },
      ],
    });
    expect(errors).toEqual([
      { path: 'fallbacks.0.provider_id', message: `No provider with id ${nobody}` },
      { path: 'fallbacks.1.provider_id', message: expect.stringContaining('keeps conversations in its own sessions') },
      { path: 'fallbacks.2.model', message: expect.stringContaining('has no `default_model`') },
      { path: 'fallbacks.3', message: expect.stringContaining('asked before already') },
      { path: 'fallbacks.5', message: expect.stringContaining('asked before already') },
    ]);
  });

  it('need a reason, a model or provider, and at most eight entries', async () => {
    const paths = async (fallbacks: unknown, more: object = {}) =>
      (await refused('/api/agents', { fallbacks, ...more })).map(({ path }) => path);
    expect(await paths([{ on: [], model: 'm' }])).toEqual(['fallbacks.0.on']);
    expect(await paths([{ on: ['tired'], model: 'm' }])).toEqual(['fallbacks.0.on.0']);
    expect(await paths([{ on }])).toEqual(['fallbacks.0']);
    const named = (count: number) => Array.from({ length: count }, (_, index) => ({ on, model: `m${index}` }));
    expect(await paths(named(9))).toEqual(['fallbacks']);
    expect(await paths(named(8), { fallback_minutes: 10_081 })).toEqual(['fallback_minutes']);
    const most = { name: here.unique('most'), fallbacks: named(8), fallback_minutes: 10_080 };
    expect((await here.alice.post('/api/agents', most)).status).toBe(201);
  });

  it('warn about a key that the person who saves the agent cannot use, and not its owner', async () => {
    const token = `fallback-key-${crypto.randomUUID()}`;
    await here.bob.ok(here.bob.post('/api/tokens', { name: token, value: 'canary-of-bob' }));
    const bobs = await providerOf(here.bob, openaiAt('http://127.0.0.1:9/v1', { api_key_token_name: token }));
    const values = { fallbacks: [{ on, provider_id: bobs }] };
    const warningsOf = async (who: 'alice' | 'bob') =>
      (await here[who].ok(here[who].post('/api/agents', { name: here.unique(`warned ${who}`), ...values }), 201)).warnings ?? [];
    expect(await warningsOf('alice')).toEqual([{ path: 'fallbacks.0', message: expect.stringContaining(token) }]);
    expect(await warningsOf('bob')).toEqual([]);
  });
});

describe('fallbacks of a provider', () => {
  it('name other providers, or another of its models; it cannot stand in for itself', async () => {
    const other = await spare();
    const id = await spare({
      fallbacks: [
        { on, model: 'smaller' },
        { on, provider_id: other },
      ],
    });
    const { status, body } = await here.alice.put(`/api/providers/${id}`, {
      fallbacks: [
        { on, provider_id: id, model: 'smaller' },
        { on, model: 'spare' },
      ],
    });
    expect([status, body.errors.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      ['fallbacks.0.provider_id', 'fallbacks.1'],
    ]);
    expect((await here.alice.get(`/api/providers/${id}`)).body.fallbacks).toHaveLength(2);
  });

  it('keep the providers that they name from being deleted, as do those of agents', async () => {
    const spare_id = await spare();
    const name = here.unique('first');
    const provider = { ...openaiAt('http://127.0.0.1:9/v1'), name, fallbacks: [{ on, provider_id: spare_id }] };
    const { id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
    const agent_name = here.unique('falls');
    const fallbacks = [{ on, provider_id: spare_id }];
    const agent = await here.alice.ok(here.alice.post('/api/agents', { name: agent_name, fallbacks }), 201);
    const { status, body } = await here.alice.del(`/api/providers/${spare_id}`);
    expect([status, body.detail]).toEqual([409, expect.stringContaining(`agent ${agent_name}, provider ${name}`)]);
    await here.alice.ok(here.alice.put(`/api/providers/${id}`, { fallbacks: [] }));
    await here.alice.ok(here.alice.put(`/api/agents/${agent.id}`, { fallbacks: [] }));
    expect((await here.alice.del(`/api/providers/${spare_id}`)).status).toBe(204);
  });
});

describe('a definition', () => {
  const definitionOf = async (workflow_id: string) => {
    const versions = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/versions`));
    const { number } = versions[0];
    return (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}/versions/${number}`))).definition;
  };

  it('pins the list of the agent, or else that of its provider, with the providers as they are', async () => {
    const spare_id = await spare({ model_total_seconds: 31 });
    const provider_id = await spare({ default_model: 'own', fallbacks: [{ on, provider_id: spare_id }], fallback_minutes: 13 });
    const of_provider = await definitionOf(await here.workflow({ agent: { provider_id, model: null } }));
    expect(of_provider).toMatchObject({
      fallbacks: [
        { on, model: null, provider: { id: spare_id, default_model: 'spare' }, exchange_limits: { model_total_seconds: 31 } },
      ],
      fallback_minutes: 13,
    });
    const fallbacks = [{ on: ['quota'], model: 'mine' }];
    const of_agent = await definitionOf(await here.workflow({ agent: { provider_id, model: null, fallbacks } }));
    expect([of_agent.fallbacks, of_agent.fallback_minutes]).toEqual([[{ on: ['quota'], model: 'mine' }], undefined]);
  });

  it('without fallbacks has no field of them', async () => {
    const definition = await definitionOf(await here.workflow({ agent: { provider_id: await spare(), model: null } }));
    expect(Object.keys(definition)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^fallback/)]));
  });
});

it('an import keeps fallbacks, and warns about a provider that this installation does not have', async () => {
  const provider_id = await spare();
  const nobody = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be007';
  const items = [
    {
      name: here.unique('imported'),
      fallbacks: [
        { on, provider_id, model: null },
        { on, provider_id: nobody, model: 'm' },
      ],
      fallback_minutes: 19,
    },
  ];
  const result = await here.alice.ok(here.alice.post('/api/agents/import', { items }), 201);
  expect([result.errors, result.warnings]).toEqual([
    [],
    [{ path: 'agents.0', message: expect.stringContaining(`fallbacks: ${nobody} is not in this installation`) }],
  ]);
  const { items: exported } = await here.alice.ok(here.alice.get(`/api/agents/${result.ids[0]}/export`));
  expect(exported).toMatchObject([{ fallbacks: items[0]!.fallbacks, fallback_minutes: 19 }]);
});
