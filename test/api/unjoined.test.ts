import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
  const saved = (path: string, values: object) => here.bob.ok(here.bob.post(path, { ...values, tags: ['house'] }), 201);
  await saved('/api/guardrails', { name: 'of bob', guardrail_type: 'prompt', config: { max_length: 5 } });
  await saved('/api/skills', { name: 'of bob', instructions: 'x' });
  await saved('/api/mcps', { name: 'of bob', transport_type: 'http', connection_config: { url: 'http://127.0.0.1:9/mcp' } });
  await saved('/api/knowledge-sources', { name: 'of bob' });
});
afterAll(() => here?.stop());

const pathsOf = ({ warnings = [] }: Record<string, any>) =>
  warnings.map(({ path, message }: { path: string; message: string }) => `${path}: ${message}`);
const sentence = (path: string, what: string, ids: string) =>
  expect.stringMatching(new RegExp(`^${path}: The ${what} of bob has one of these tags and does not join: .*\`${ids}\``));
const OF_WORKFLOW = [sentence('guardrail_tags', 'guardrail', 'guardrail_ids'), sentence('skill_tags', 'skill', 'skill_ids')];
const OF_AGENT = [
  sentence('knowledge_tags', 'knowledge source', 'knowledge_source_ids'),
  sentence('mcp_server_tags', 'MCP server', 'mcp_server_ids'),
];
const tags = { guardrail_tags: ['house'], skill_tags: ['house'] };
const agent_tags = { mcp_server_tags: ['house'], knowledge_tags: ['house'] };

it('a workflow says which resources with its tags do not join: created, changed, read and imported', async () => {
  const { alice } = here;
  const agent = await alice.ok(alice.post('/api/agents', { name: 'plain' }), 201);
  const made = await alice.ok(alice.post('/api/workflows', { agent_id: agent.id, ...tags }), 201);
  expect(pathsOf(made)).toEqual(OF_WORKFLOW);
  const path = `/api/workflows/${made.id}`;
  expect(pathsOf(await alice.ok(alice.put(path, { title: 'x' })))).toEqual(OF_WORKFLOW);
  expect(pathsOf(await alice.ok(alice.get(path)))).toEqual(OF_WORKFLOW);
  const { items } = await alice.ok(alice.get(`${path}/export`));
  const imported = await alice.ok(alice.post('/api/workflows/import', { items }), 201);
  expect(pathsOf(imported)).toEqual(
    ['guardrail', 'skill'].map((kind) => expect.stringContaining(`items.0.${kind}_tags: The ${kind} of bob`)),
  );
  const before = (await alice.get('/api/workflows')).body.length;
  const strict = { prefer: 'handling=strict' };
  expect((await alice.post('/api/workflows', { agent_id: agent.id, ...tags }, strict)).status).toBe(422);
  expect((await alice.get('/api/workflows')).body.length).toBe(before);
});

it('an agent says it of MCP servers and knowledge sources', async () => {
  const { alice } = here;
  const made = await alice.ok(alice.post('/api/agents', { name: 'tagged', ...agent_tags }), 201);
  expect(pathsOf(made)).toEqual(OF_AGENT);
  expect(pathsOf(await alice.ok(alice.get(`/api/agents/${made.id}`)))).toEqual(OF_AGENT);
});

it('nothing is said of what joins: resources of the owner, and those that are named by their id', async () => {
  const { alice, bob } = here;
  const own = await bob.ok(bob.post('/api/agents', { name: 'of bob', ...agent_tags }), 201);
  expect(own).not.toHaveProperty('warnings');
  const mine = await bob.ok(bob.post('/api/workflows', { agent_id: own.id, ...tags }), 201);
  expect(pathsOf(mine)).toEqual([]);
  const [guardrail] = (await alice.get('/api/guardrails')).body as unknown as { id: string }[];
  const named = { agent_id: own.id, guardrail_tags: ['house'], guardrail_ids: [guardrail?.id] };
  expect(pathsOf(await alice.ok(alice.post('/api/workflows', named), 201))).toEqual([]);
});
