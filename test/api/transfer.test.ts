import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let from: TestInstallation;
let to: TestInstallation;
beforeAll(async () => {
  [from, to] = await Promise.all([startTestInstallation({ worker: false }), startTestInstallation({ worker: false })]);
});
afterAll(async () => {
  await Promise.all([from.stop(), to.stop()]);
});

const NOWHERE = '01900000-0000-7000-8000-000000000000';
let made = 0;
const unique = (name: string) => `${name} ${++made}`;
const created = async (path: string, values: object, { alice } = from) =>
  (await alice.ok(alice.post(path, values), 201)).id as string;
const PARTS = ['skills', 'agents', 'workflows', 'knowledge_sources', 'scheduled_agents'] as const;

it('carries everything into an empty installation, where references still hold', async () => {
  const { alice } = from;
  await created('/api/tokens', { name: 'repo', value: 'CANARY-token' });
  const skill = await created('/api/skills', { name: 'cite', instructions: 'Cite.', tags: ['a'] });
  const connection_config = { url: 'https://q.example', collection: 'c', api_key: 'CANARY-key' };
  const source = await created('/api/knowledge-sources', { name: 'remote', source_type: 'vector_db', connection_config });
  const provider_id = await created('/api/providers', {
    name: 'own',
    provider_type: 'openai_compatible',
    base_url: 'https://m.example',
  });
  const agent = await created('/api/agents', {
    ...{ name: 'researcher', system_prompt: 'Be exact.', knowledge_source_ids: [source], builtin_tools: ['search_knowledge'] },
    ...{ provider_id, approval_tools: ['f'], tool_definitions: [{ type: 'function', function: { name: 'f' } }] },
  });
  const workflow_id = await created('/api/workflows', {
    ...{ agent_id: agent, title: 'daily', skill_ids: [skill], repo_token_name: 'repo', reasoning_effort: 'medium', max_turns: 9 },
    ...{ budget: { max_tokens: 5 }, webhook_url: 'https://hook.example/x', remember: 'thread' },
  });
  const schedule = { name: 'at seven', workflow_id, prompt: 'Report.', cron: '0 7 * * *', time_zone: 'Europe/Berlin' };
  const schedule_id = await created('/api/scheduled-agents', { ...schedule, jitter_seconds: 60, pause_after_failures: 3 });
  await from.bob.ok(from.bob.post('/api/workflows', { agent_id: agent, title: 'of someone else' }), 201);

  const bundle = await alice.ok(alice.get('/api/export'));
  expect(bundle).toMatchObject({ version: '1.0', resource_type: 'bundle', exported_at: expect.any(String) });
  expect(bundle.workflows.map(({ title }: { title: string }) => title)).toEqual(['daily']);
  expect(JSON.stringify(bundle)).not.toContain('CANARY');

  const dry = await to.alice.ok(to.alice.post('/api/import?dry_run=true', bundle), 201);
  expect(PARTS.map((part) => dry[part].created)).toEqual([1, 1, 1, 1, 1]);
  expect((await to.alice.get('/api/skills')).body).toEqual([]);

  const result = await to.alice.ok(to.alice.post('/api/import', bundle), 201);
  expect(PARTS.map((part) => [result[part].created, result[part].errors])).toEqual(PARTS.map(() => [1, []]));
  expect(result.knowledge_sources.warnings).toMatchObject([
    { message: expect.stringContaining('connection_config.api_key was masked') },
  ]);
  expect(result.workflows.warnings).toMatchObject([{ message: expect.stringContaining('stored token named repo') }]);
  const again = await to.alice.ok(to.alice.get('/api/export'));
  const bare = ({ exported_at: _, knowledge_sources, ...rest }: Record<string, any>) => ({
    ...rest,
    knowledge_sources: knowledge_sources.map((it: object) => ({ ...it, connection_config: null })),
  });
  expect(bare(again)).toEqual(bare(bundle));
  const workflow = (await to.alice.get('/api/workflows')).body[0];
  expect(workflow).toMatchObject({ owner: 'alice', agent_id: again.agents[0].id, skill_ids: [again.skills[0].id], max_turns: 9 });
  const path = `/api/scheduled-agents/${schedule_id}`;
  const imported = { ...schedule, jitter_seconds: 60, pause_after_failures: 3, interval_value: null };
  const disabled_reason = 'Imported; enable the schedule to run it';
  expect((await to.alice.get(path)).body).toMatchObject({ ...imported, enabled: false, next_run_at: null, disabled_reason });
  expect((await to.alice.patch(`${path}/enable`)).body).toMatchObject({ enabled: true, disabled_reason: null });
  const prompted = await to.alice.post(`/api/workflows/${workflow.id}/prompt`, { prompt: 'x' });
  expect(prompted).toMatchObject({ status: 409, body: { code: 'provider_missing' } });
});

it.each([
  ['skills', 'skill', { instructions: 'x' }],
  ['agents', 'agent', {}],
  ['knowledge-sources', 'knowledge_source', { source_type: 'builtin' }],
])('exports and imports %s by themselves, each item for itself', async (path, resource_type, more) => {
  const { alice } = from;
  const [name, other] = [unique('item'), unique('item')];
  const id = await created(`/api/${path}`, { name, ...more });
  const one = await alice.ok(alice.get(`/api/${path}/${id}/export`));
  expect(one).toMatchObject({ version: '1.0', resource_type, items: [{ name, ...more }] });
  expect((await alice.ok(alice.get(`/api/${path}/export`))).items.map((item: { name: string }) => item.name)).toContain(name);
  expect((await alice.get(`/api/${path}/${NOWHERE}/export`)).status).toBe(404);
  const items = [{ ...one.items[0], name: other, color: 'red' }];
  const result = await alice.ok(alice.post(`/api/${path}/import`, { ...one, items }), 201);
  expect(result).toMatchObject({
    created: 1,
    errors: [],
    ids: [expect.any(String)],
    warnings: [{ path: 'items.0.color', message: expect.any(String) }],
  });
  expect(result.ids[0]).not.toBe(id);
  expect((await alice.ok(alice.get(`/api/${path}/${result.ids[0]}`))).name).toBe(other);
});

it('imports schedules only of the importer’s workflows, each with one recurrence', async () => {
  const { alice, bob } = from;
  const agent_id = await created('/api/agents', { name: unique('agent') });
  const workflow_id = await created('/api/workflows', { agent_id });
  const foreign = (await bob.ok(bob.post('/api/workflows', { agent_id }))).id;
  const item = { name: 'n', prompt: 'p', workflow_id, cron: '@daily' };
  const items = [
    item,
    { ...item, workflow_id: foreign },
    { ...item, cron: 'x' },
    { ...item, cron: null },
    { ...item, id: NOWHERE },
  ];
  const result = await alice.ok(alice.post('/api/scheduled-agents/import', { items }), 201);
  expect(result.errors).toEqual([
    `scheduled_agents.1 (n): workflow_id: You have no workflow with id ${foreign}; import workflows first`,
    expect.stringMatching(/^scheduled_agents\.2 \(n\): cron: Write five fields/),
    'scheduled_agents.3 (n): interval_value: Send interval_value and interval_unit, or cron',
  ]);
  expect(result.ids).toEqual([expect.any(String), NOWHERE]);
});

it('reports which items failed and keeps the others', async () => {
  const { alice } = from;
  const name = unique('agent');
  const items = [
    { name },
    { name },
    { name: unique('agent'), provider_id: 'p-1' },
    { name: unique('agent'), mcp_server_ids: ['srv-1'] },
  ];
  const result = await alice.ok(alice.post('/api/agents/import', { items }), 201);
  expect(result.created).toBe(3);
  expect(result.errors).toEqual([
    expect.stringContaining(`agents.1 (${name}): There is already`),
    expect.stringMatching(/^agents\.2 .*provider_id: p-1/),
    expect.stringMatching(/^agents\.3 .*mcp_server_ids: srv-1/),
  ]);
  expect((await alice.ok(alice.get(`/api/agents/${result.ids[2]}`))).mcp_server_ids).toEqual([]);
  const workflows = await alice.ok(
    alice.post('/api/workflows/import', { items: [{ agent_id: 'agent-1' }, { agent_id: NOWHERE }, { agent_id: result.ids[0] }] }),
    201,
  );
  expect(workflows).toMatchObject({
    created: 1,
    errors: [expect.stringContaining('No agent with id agent-1'), expect.stringContaining(NOWHERE)],
  });
  const sources = [
    { name: 'm', source_type: 'mongo_db' },
    { name: 'n', source_type: 'fax' },
  ];
  const imported = await alice.ok(alice.post('/api/knowledge-sources/import', { items: sources }), 201);
  expect(imported).toMatchObject({ created: 1, errors: [expect.stringContaining('fax')] });
  expect((await alice.ok(alice.get(`/api/knowledge-sources/${imported.ids[0]}`))).source_type).toBe('builtin');
});

it('names the first twenty references that are not here, and counts the others', async () => {
  const absent = Array.from({ length: 22 }, (_, at) => `01900000-0000-7000-8000-0000000000${at + 10}`);
  const name = unique('agent');
  const items = [{ name, custom_tool_ids: absent }];
  const { warnings } = await from.alice.ok(from.alice.post('/api/agents/import', { items }), 201);
  const sentences = [
    ...absent.slice(0, 20).map((id) => `custom_tool_ids: ${id} is not in this installation`),
    '2 more like these',
  ];
  expect(warnings.map(({ message }: { message: string }) => message)).toEqual(
    sentences.map((one) => `agents.0 (${name}): ${one}`),
  );
});

it("exports nobody else's workflow", async () => {
  const agent_id = await created('/api/agents', { name: unique('agent') });
  const title = unique('of alice');
  const id = await created('/api/workflows', { agent_id, title });
  expect((await from.bob.get(`/api/workflows/${id}/export`)).status).toBe(403);
  for (const path of ['/api/workflows/export', '/api/export']) {
    expect(JSON.stringify(await from.alice.ok(from.alice.get(path))), path).toContain(title);
    expect(JSON.stringify(await from.bob.ok(from.bob.get(path))), path).not.toContain(title);
  }
  const { items } = await from.alice.ok(from.alice.get(`/api/workflows/${id}/export`));
  expect(items).toMatchObject([{ agent_id, output_format: 'json', infinite_session: true, reasoning_effort: null }]);
});

it('refuses bodies that are no bundles', async () => {
  const { alice } = from;
  const refused = [
    ['/api/import', { version: '2.0', skills: [] }],
    ['/api/import', { skills: [] }],
    ['/api/skills/import', { items: [{ name: 'no instructions' }] }],
    ['/api/skills/import', { version: '2.0', items: [] }],
    ['/api/skills/import', { resource_type: 'agent', items: [] }],
    ['/api/skills/import', { items: 'all' }],
    ['/api/agents/import', [{ name: 'x' }]],
  ] as const;
  for (const [path, body] of refused) expect([path, (await alice.post(path, body)).status]).toEqual([path, 422]);
});

it('takes a bundle of 1,000 items', async () => {
  const { alice } = to;
  const each = (make: (index: number) => object) => Array.from({ length: 250 }, (_, index) => make(index));
  const agent = (await alice.get('/api/agents')).body.at(0);
  const bundle = {
    version: '1.0',
    skills: each((index) => ({ name: `skill ${index}`, instructions: 'x'.repeat(3_000) })),
    agents: each((index) => ({ name: `bulk ${index}`, system_prompt: 'y'.repeat(3_000) })),
    workflows: each((index) => ({ agent_id: agent.id, title: `workflow ${index}` })),
    knowledge_sources: each((index) => ({ name: `source ${index}`, source_type: 'builtin' })),
  };
  const result = await alice.ok(alice.post('/api/import', bundle), 201);
  expect(PARTS.map((part) => result[part].created)).toEqual([250, 250, 250, 250, 0]);
});

it('masks keys in the addresses of webhooks, and says which have to be set again', async () => {
  const { alice } = from;
  const agent = await alice.ok(alice.post('/api/agents', { name: unique('notified') }), 201);
  const key = 'https://hooks.example.com/services/T0AB/B0CD/zYxW9876vutSRqp54321';
  const values = { agent_id: agent.id, webhook_url: key, error_webhook_url: 'https://ops.example.com/hooks/perdura' };
  const { id } = await alice.ok(alice.post('/api/workflows', values), 201);
  for (const path of ['/api/export', `/api/workflows/${id}/export`])
    expect(JSON.stringify(await alice.ok(alice.get(path)))).not.toContain('zYxW9876');
  const { items } = await alice.ok(alice.get(`/api/workflows/${id}/export`));
  expect(items[0]).toMatchObject({
    webhook_url: 'https://hooks.example.com/********',
    error_webhook_url: values.error_webhook_url,
  });
  const imported = await alice.ok(alice.post('/api/workflows/import', { items }), 201);
  expect(JSON.stringify(imported.warnings)).toContain('webhook_url was masked in the bundle; set its value again');
  const again = await alice.ok(alice.get(`/api/workflows/${imported.ids[0]}`));
  expect(again).toMatchObject({ webhook_url: null, error_webhook_url: values.error_webhook_url });
});
