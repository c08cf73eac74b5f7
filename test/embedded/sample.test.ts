import { afterEach, describe, expect, it } from 'vitest';
import { SAMPLE } from '../../src/contracts/sample.ts';
import { findLocalPrincipal } from '../../src/main/setting.ts';
import { prepareSample } from '../../src/main/wiring/prepare-sample.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

const ALICE = { provider: 'local', subject: 'alice', login: 'alice' };
const FIRST = 'http://127.0.0.1:18900/v1';
const SECOND = 'http://127.0.0.1:18901/v1';

const started: TestInstallation[] = [];
afterEach(async () => {
  for (const here of started.splice(0)) await here.stop();
});

async function installation() {
  const here = await startTestInstallation({ worker: false });
  started.push(here);
  const { alice, core } = here;
  const list = async (path: string) => (await alice.ok(alice.get(`/api/${path}`))) as unknown as Record<string, any>[];
  return {
    ...here,
    list,
    start: (demo_model_url: string, owner: typeof ALICE | null = ALICE) => prepareSample(core, { demo_model_url, owner }),
    made: async () => ({
      providers: (await list('providers')).map(({ name }) => name),
      tools: (await list('custom-tools')).map(({ name }) => name),
      agents: (await list('agents')).map(({ name }) => name),
      workflows: (await list('workflows')).map(({ title }) => title),
    }),
  };
}

const NOTHING = { providers: [], tools: [], agents: [], workflows: [] };
const ALL = { providers: [SAMPLE.provider], tools: [SAMPLE.tool], agents: [SAMPLE.agent], workflows: [SAMPLE.workflow] };

describe('the sample of a fresh installation', () => {
  it('is created once, completely, belongs to the local user, and is not created again after it was deleted', async () => {
    const { alice, bob, start, made, list } = await installation();
    await start(FIRST);
    await start(FIRST);
    expect(await made()).toEqual(ALL);
    const [agent] = await list('agents');
    const [provider] = await list('providers');
    const [tool] = await list('custom-tools');
    expect(agent).toMatchObject({ provider_id: provider!.id, custom_tool_ids: [tool!.id], created_by: 'local:alice' });
    expect(tool!.parameters_schema).toMatchObject({ required: ['text'] });
    expect(await bob.ok(bob.get('/api/workflows'))).toEqual([]);
    const [workflow] = await list('workflows');
    expect(await alice.ok(alice.get(`/api/workflows/${workflow!.id}`))).toMatchObject({ agent_id: agent!.id, owner: 'alice' });
    for (const path of ['workflows', 'agents', 'custom-tools', 'providers'])
      for (const { id } of await list(path)) await alice.ok(alice.del(`/api/${path}/${id}`));
    await start(SECOND);
    expect(await made()).toEqual(NOTHING);
  });

  it('is never created in an installation that is already in use', async () => {
    const { alice, start, made, list } = await installation();
    await alice.ok(alice.post('/api/agents', { name: 'theirs' }));
    await start(FIRST);
    expect(await made()).toEqual({ ...NOTHING, agents: ['theirs'] });
    for (const { id } of await list('agents')) await alice.ok(alice.del(`/api/agents/${id}`));
    await start(FIRST);
    expect(await made()).toEqual(NOTHING);
  });

  it('is not created if the local token signs nobody in', async () => {
    const { start, made, setting } = await installation();
    await start(FIRST, null);
    expect(await made()).toEqual(NOTHING);
    const named = (IDENTITY_PROVIDERS: string[]) => findLocalPrincipal({ ...setting.config, IDENTITY_PROVIDERS });
    expect([named([]), named(['github', 'local']), named(['github'])]).toEqual([
      expect.anything(),
      { provider: 'local', subject: 'local', login: 'local' },
      null,
    ]);
  });
});

describe('providers of the demo model', () => {
  const provider = (name: string, values: object) => ({ name, provider_type: 'openai_compatible', ...values });

  it('follow it to another port, while other providers keep their address', async () => {
    const { alice, start, list } = await installation();
    await start(FIRST);
    await alice.ok(alice.post('/api/tokens', { name: 'key', value: 'secret value' }));
    for (const values of [
      provider('same address', { base_url: FIRST }),
      provider('with a key', { base_url: FIRST, api_key_token_name: 'key' }),
      provider('elsewhere', { base_url: 'http://127.0.0.1:11434/v1', default_model: SAMPLE.model }),
    ])
      await alice.ok(alice.post('/api/providers', values));
    await start(SECOND);
    const addresses = async () => Object.fromEntries((await list('providers')).map(({ name, base_url }) => [name, base_url]));
    const moved = {
      elsewhere: 'http://127.0.0.1:11434/v1',
      'with a key': FIRST,
      [SAMPLE.provider]: SECOND,
      'same address': SECOND,
    };
    expect(await addresses()).toEqual(moved);
  });

  it('are recognized by name if the installation did not record the address', async () => {
    const { alice, start, list } = await installation();
    const old = 'http://127.0.0.1:19999/v1';
    await alice.ok(alice.post('/api/providers', provider('demo model', { base_url: old, default_model: SAMPLE.model })));
    await alice.ok(alice.post('/api/providers', provider('other', { base_url: old, default_model: SAMPLE.model })));
    await start(SECOND);
    expect((await list('providers')).map(({ name, base_url }) => [name, base_url])).toEqual([
      ['other', old],
      ['demo model', SECOND],
    ]);
  });
});
