import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type World, worldOf } from './contract-world.ts';

let here: TestInstallation;
let world: World;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  world = await worldOf(here);
  // As an earlier release, with other limits, may have stored them.
  for (const change of LONGER) await here.core.database.pool.query(change);
});
afterAll(() => here?.stop());

const LONG = `repeat('m', 20000)`;
const NAMED = ['agents', 'skills', 'providers', 'mcp_servers', 'guardrails', 'knowledge_sources', 'knowledge_items', 'datasets'];
const LONGER = [
  ...[...NAMED, 'alerts', 'scheduled_agents', 'custom_tools'].map((table) => `UPDATE ${table} SET name = ${LONG}`),
  `UPDATE agents SET model = ${LONG}`,
  `UPDATE providers SET default_model = ${LONG}, base_url = 'odd', requests_per_minute = 0`,
  `UPDATE workflows SET model = ${LONG}, title = ${LONG}, max_turns = 20000, repo_url = 'odd', repo_branch = '-', temperature = 9`,
  `UPDATE memories SET value = repeat('m', 200000)`,
];

const COLLECTIONS = ['agents', 'skills', 'providers', 'workflows', 'mcps', 'guardrails', 'knowledge-sources', 'knowledge-items'];

it.each([...COLLECTIONS, 'memories', 'datasets', 'alerts', 'scheduled-agents', 'custom-tools'])(
  'shows %s that are longer than what is accepted now',
  async (collection) => {
    const { alice } = here;
    const listed = await alice.ok(alice.get(`/api/${collection}`));
    const one = await alice.ok(alice.get(`/api/${collection}/${world.ids[collection]}`));
    expect(JSON.stringify(listed[0]).length).toBeGreaterThan(20_000);
    expect(one.id).toBe(world.ids[collection]);
  },
);

it('changes such a row, and refuses only what the change itself makes too long', async () => {
  const { alice } = here;
  const path = `/api/workflows/${world.ids.workflows}`;
  const changed = await alice.ok(alice.put(path, { max_turns: 7 }));
  expect(changed).toMatchObject({ max_turns: 7, model: 'm'.repeat(20_000) });
  expect((await alice.put(path, { model: changed.model })).status).toBe(422);
});

it('exports such rows; an import names the field that is too long', async () => {
  const { alice } = here;
  const bundle = await alice.ok(alice.get('/api/export'));
  expect(bundle.workflows[0].model).toHaveLength(20_000);
  const refused = await alice.post('/api/import', bundle);
  expect(refused.status).toBe(422);
  expect(refused.body.errors.map(({ path }: { path: string }) => path)).toContain('workflows.0.model');
});
