import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

it('a tool without its token is reported by the tool, its agents and their workflows, before a run', async () => {
  const { alice } = here;
  const source_code = 'ENV = {"API_KEY": "the key"}\ndef keyed(a: int):\n    return a\n';
  const tool = await alice.ok(alice.post('/api/custom-tools', { name: 'keyed', source_code, network: false }), 201);
  const provider = { name: 'own', provider_type: 'openai_compatible', base_url: here.model.url };
  const { id: provider_id } = await alice.ok(alice.post('/api/providers', provider), 201);
  const agent = await alice.ok(alice.post('/api/agents', { name: 'uses it', provider_id, custom_tool_ids: [tool.id] }), 201);
  const workflow = await alice.ok(alice.post('/api/workflows', { agent_id: agent.id }), 201);
  const paths = [
    `/api/custom-tools/${tool.id}`,
    `/api/custom-tools/${tool.id}/env-mapping`,
    `/api/agents/${agent.id}`,
    `/api/workflows/${workflow.id}`,
  ];
  /** What each of them says about the variable. */
  const said = async (client: Client = alice) => {
    const records = await Promise.all(paths.map(async (path) => (await client.get(path)).body));
    return records.map(({ warnings = [], needs = [] }) =>
      [...warnings.map(({ message }: { message: string }) => message), ...needs].join(),
    );
  };
  expect((await said()).every((text) => text.includes('`API_KEY`'))).toBe(true);
  const mapped = await alice.put(paths[1] as string, { env_mapping: { API_KEY: 'later' } });
  expect([mapped.status, mapped.body.warnings?.[0].path]).toEqual([200, 'env_mapping.API_KEY']);
  expect((await said()).map((text) => text !== '')).toEqual([true, true, true, true]);
  await alice.ok(alice.post('/api/tokens', { name: 'later', value: 'x' }), 201);
  expect(await said()).toEqual(['', '', '', '']);
  // An override that nothing reads would leave the variable as it is.
  const refusalOf = async (agent_id: string) =>
    (await alice.post('/api/workflows', { agent_id, credential_overrides: { APIKEY: 'later' } })).body.errors[0].message;
  const plain = await alice.ok(alice.post('/api/agents', { name: 'has no tools', provider_id }), 201);
  expect([await refusalOf(agent.id), await refusalOf(plain.id)]).toEqual([
    expect.stringMatching(/declared variables: API_KEY$/),
    expect.stringMatching(/declared variables: none$/),
  ]);
  // Another person's runs cannot use this token.
  const other = await here.bob.ok(here.bob.post('/api/workflows', { agent_id: agent.id }), 201);
  paths[3] = `/api/workflows/${other.id}`;
  expect((await said(here.bob)).map((text) => text !== '')).toEqual([true, true, true, true]);
  await here.bob.ok(here.bob.post('/api/tokens', { name: 'of-bob', value: 'y' }), 201);
  await here.bob.ok(here.bob.put(paths[3], { credential_overrides: { API_KEY: 'of-bob' } }));
  expect((await said(here.bob))[3]).toBe('');
});
