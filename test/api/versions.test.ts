import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/model-server.ts';

let here: TestInstallation;

beforeAll(async () => {
  here = await startTestInstallation();
  here.model.always(says('Done.'));
});
afterAll(() => here.stop());

type Version = Record<string, any>;

const list = async (id: string, query = '') =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${id}/versions${query}`))) as Version[];
const numbers = async (id: string) =>
  (await list(id)).map(({ number, origin, runs, current }) => [number, origin, runs, current]);
const version = (id: string, number: number, query = '') =>
  here.alice.ok(here.alice.get(`/api/workflows/${id}/versions/${number}${query}`));
const changed = async (id: string, number: number, against: number | 'current') =>
  (await version(id, number, `?against=${against}`)).changes as Record<string, any>[];
const restore = (id: string, number: number, body: object = {}, headers?: Record<string, string>) =>
  here.alice.post(`/api/workflows/${id}/versions/${number}/restore`, body, headers);
const set = (path: string, body: object) => here.alice.ok(here.alice.put(`/api/${path}`, body));
const workflowOf = (id: string) => here.alice.ok(here.alice.get(`/api/workflows/${id}`));
const run = async (id: string, more: object = {}) => here.ended(await here.prompt(id, 'Do it.', more));
const agentOf = async (id: string) => (await workflowOf(id)).agent_id as string;
const sql = async (text: string, ...values: unknown[]) => (await here.core.database.pool.query(text, values)).rows;
const make = async (path: string, body: object) => (await here.alice.ok(here.alice.post(`/api/${path}`, body), 201)).id as string;

describe('a version comes into being', () => {
  it('when the workflow is saved with another definition', async () => {
    const id = await here.workflow();
    expect(await numbers(id)).toEqual([[1, 'saved', 0, true]]);
    await set(`workflows/${id}`, { max_turns: 9 });
    await set(`workflows/${id}`, { max_turns: 9 });
    expect(await numbers(id)).toEqual([
      [2, 'saved', 0, true],
      [1, 'saved', 0, false],
    ]);
    const [newest] = await list(id);
    expect(newest).toMatchObject({ created_by: 'alice', restorable: true });
    expect(newest?.definition_hash).toBe((await run(id)).definition_hash);
  });

  it('when a skill is installed or removed', async () => {
    const id = await here.workflow();
    const skill = await make('skills', { name: 'tone', instructions: 'Be kind.' });
    await here.alice.ok(here.alice.post(`/api/workflows/${id}/skills/${skill}`));
    expect(await numbers(id)).toHaveLength(2);
    await here.alice.ok(here.alice.del(`/api/workflows/${id}/skills/${skill}`));
    expect((await list(id)).map(({ number, current }) => [number, current])).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  it('with the first run after something shared has changed', async () => {
    const id = await here.workflow();
    await run(id);
    await set(`agents/${await agentOf(id)}`, { system_prompt: 'Answer in verse.' });
    expect(await numbers(id)).toEqual([[1, 'saved', 1, false]]);
    await run(id);
    await run(id);
    expect(await numbers(id)).toEqual([
      [2, 'run', 2, true],
      [1, 'saved', 1, false],
    ]);
  });

  it('once, with as many first runs at the same time as there are', async () => {
    const id = await here.workflow();
    await set(`agents/${await agentOf(id)}`, { system_prompt: 'Answer in prose.' });
    await Promise.all(Array.from({ length: 4 }, () => run(id)));
    expect((await list(id)).map(({ origin, runs }) => [origin, runs])).toEqual([
      ['run', 4],
      ['saved', 0],
    ]);
  });

  it('with a prompt that overrides a setting, and is no longer the current one', async () => {
    const id = await here.workflow();
    await run(id, { reasoning_effort: 'high' });
    expect(await numbers(id)).toEqual([
      [2, 'run', 1, false],
      [1, 'saved', 0, true],
    ]);
    expect(await changed(id, 2, 1)).toEqual([
      { path: 'settings.reasoning_effort', kind: 'changed', before: null, after: 'high' },
    ]);
    expect((await here.alice.ok(restore(id, 2))).exact).toBe(true);
    expect((await workflowOf(id)).reasoning_effort).toBe('high');
  });

  it('of a fork never: it has the version of its source', async () => {
    const id = await here.workflow();
    const source = await run(id);
    await set(`workflows/${id}`, { max_turns: 9 });
    const { task_id } = await here.alice.ok(here.alice.post(`/api/tasks/${source.id}/fork`, { from_step: 1 }), 201);
    await here.ended(task_id);
    expect((await list(id)).map(({ number, runs }) => [number, runs])).toEqual([
      [2, 0],
      [1, 2],
    ]);
  });

  it('not for a workflow that was made for one request', async () => {
    const id = await here.workflow();
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${await agentOf(id)}`));
    const body = { model: name, messages: [{ role: 'user', content: 'x' }] };
    await here.alice.ok(here.alice.post('/v1/chat/completions', body));
    const [single] = await sql('SELECT id, version_count FROM workflows WHERE single_use');
    expect(single?.version_count).toBe(0);
    expect(await sql('SELECT 1 FROM workflow_versions WHERE workflow_id = $1', single?.id)).toEqual([]);
  });
});

describe('of versions that never ran', () => {
  it('the newest twenty are kept, and every one that ran', async () => {
    const id = await here.workflow();
    await run(id);
    for (let max_turns = 10; max_turns < 32; max_turns++) await set(`workflows/${id}`, { max_turns });
    expect((await list(id)).map(({ number }) => number)).toEqual([...Array.from({ length: 20 }, (_, at) => 23 - at), 1]);
    expect(await list(id, '?limit=2')).toHaveLength(2);
  });
});

describe('a version is read', () => {
  it('with what its runs work with, and without secrets', async () => {
    const server = await make('mcps', {
      name: 'vault',
      transport_type: 'http',
      connection_config: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer swordfish' } },
    });
    const tools = ['def doubled(n: int) -> int:\n    return n * 2\n'];
    const id = await here.workflow({ agent: { mcp_server_ids: [server], system_prompt: 'Guard it.' }, tools });
    await set(`mcps/${server}`, {
      connection_config: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer tuna' } },
    });
    await set(`workflows/${id}`, { title: 'Vault' });
    const { definition } = await version(id, 1);
    expect(definition.agent.system_prompt).toBe('Guard it.');
    expect(definition.tools[0].source_code).toContain('return n * 2');
    expect(definition.mcp_servers[0].connection_config.headers).toEqual({ Authorization: '********' });
    const changes = await changed(id, 2, 1);
    expect(changes.map(({ path, kind }) => [path, kind])).toEqual([
      ['workflow.title', 'changed'],
      ['mcp_servers[vault].connection_config.headers.Authorization', 'changed'],
    ]);
    expect(JSON.stringify([changes, await version(id, 2)])).not.toMatch(/swordfish|tuna|sealed/);
  });

  it('against another one and against what the next run would use', async () => {
    const id = await here.workflow({ workflow: { max_turns: 3 } });
    await set(`workflows/${id}`, { max_turns: 4, budget: { max_tokens: 100 } });
    const turns = { path: 'settings.max_turns', kind: 'changed', before: 3, after: 4 };
    expect(await changed(id, 2, 1)).toEqual([expect.objectContaining({ path: 'budget', before: null }), turns]);
    await set(`agents/${await agentOf(id)}`, { system_prompt: 'New.' });
    expect(await changed(id, 2, 'current')).toEqual([expect.objectContaining({ path: 'agent.system_prompt', before: 'New.' })]);
    expect((await version(id, 2)).changes).toBeUndefined();
  });

  it('by its owner only, by its number', async () => {
    const id = await here.workflow();
    const other = await here.workflow();
    await set(`workflows/${other}`, { max_turns: 9 });
    const at = (path: string) => here.alice.get(`/api/workflows/${id}/versions/${path}`);
    expect((await at('2')).body).toMatchObject({ status: 404, detail: 'This workflow has no version 2' });
    expect((await at('1?against=2')).status).toBe(404);
    expect((await at('0')).status).toBe(404);
    expect((await at('one')).status).toBe(404);
    expect((await at('99999999999')).status).toBe(404);
    expect((await at('1?against=latest')).status).toBe(422);
    expect((await here.bob.get(`/api/workflows/${id}/versions`)).status).toBe(403);
    expect((await here.bob.get(`/api/workflows/${id}/versions/1`)).status).toBe(403);
    expect((await here.bob.post(`/api/workflows/${id}/versions/1/restore`, {})).status).toBe(403);
  });
});

describe('a workflow is set back to a version', () => {
  it('with all of its own fields', async () => {
    const first = { title: 'First', max_turns: 3, budget: null, webhook_url: null, output_format: 'json', on_busy: 'reject' };
    const id = await here.workflow({ workflow: first });
    const second = { title: 'Second', max_turns: 8, budget: { max_tokens: 5 }, output_format: 'markdown', on_busy: 'enqueue' };
    await set(`workflows/${id}`, { ...second, webhook_url: 'https://example.com/hook' });
    expect(await here.alice.ok(restore(id, 1))).toEqual({
      workflow_id: id,
      agent_id: await agentOf(id),
      version: 1,
      exact: true,
      differences: [],
    });
    expect(await workflowOf(id)).toMatchObject(first);
    expect((await list(id)).map(({ number, current }) => [number, current])).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  it('names what skills and other shared resources make different', async () => {
    const skill = await make('skills', { name: 'manners', instructions: 'Be kind.' });
    const id = await here.workflow({ workflow: { skill_ids: [skill] } });
    await set(`workflows/${id}`, { skill_ids: [] });
    await set(`skills/${skill}`, { instructions: 'Be brief.' });
    expect(await here.alice.ok(restore(id, 1))).toMatchObject({
      version: 3,
      exact: false,
      differences: [{ path: 'skills[manners].instructions', before: 'Be kind.', after: 'Be brief.' }],
    });
    await set(`workflows/${id}`, { skill_ids: [] });
    await here.alice.ok(here.alice.del(`/api/skills/${skill}`), 204);
    const refused = await restore(id, 1);
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'skill_ids']);
    expect((await workflowOf(id)).skill_ids).toEqual([]);
  });

  it('only with a word about the agent, if that has changed', async () => {
    const id = await here.workflow({
      agent: { system_prompt: 'Old.', builtin_tools: ['web_fetch'] },
      workflow: { max_turns: 3 },
    });
    const agent_id = await agentOf(id);
    await set(`agents/${agent_id}`, { system_prompt: 'New.', builtin_tools: [] });
    await set(`workflows/${id}`, { max_turns: 4 });
    const refused = await restore(id, 1);
    expect(refused.body).toMatchObject({ status: 409, code: 'agent_differs' });
    expect(refused.body.detail).toContain('has changed since version 1 (builtin_tools, system_prompt)');
    expect((await workflowOf(id)).max_turns).toBe(4);

    expect(await here.alice.ok(restore(id, 1, { agent: 'keep' }))).toMatchObject({ agent_id, exact: false });
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('New.');
    expect((await workflowOf(id)).max_turns).toBe(3);

    expect(await here.alice.ok(restore(id, 1, { agent: 'change' }))).toMatchObject({ agent_id, exact: true, version: 1 });
    const back = { system_prompt: 'Old.', builtin_tools: ['web_fetch'] };
    expect(await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).toMatchObject(back);
  });

  it('without changing an agent that someone else made', async () => {
    const id = await here.workflow({ agent: { system_prompt: 'Old.' } });
    const agent_id = await agentOf(id);
    const { id: own } = await here.bob.ok(here.bob.post('/api/workflows', { agent_id }), 201);
    await set(`agents/${agent_id}`, { system_prompt: 'New.' });
    const as = (agent: string) => here.bob.post(`/api/workflows/${own}/versions/1/restore`, { agent });
    expect((await as('change')).status).toBe(403);
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('New.');
    const copy = await here.bob.ok(here.bob.get(`/api/agents/${(await as('copy')).body.agent_id}`));
    expect(copy).toMatchObject({ system_prompt: 'Old.', created_by: 'local:bob' });
  });

  it('with a copy of the agent, once for a repeated request', async () => {
    const id = await here.workflow({ agent: { system_prompt: 'Old.' }, workflow: { title: 'Office' } });
    const agent_id = await agentOf(id);
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    await set(`agents/${agent_id}`, { system_prompt: 'New.' });
    const key = { 'idempotency-key': `restore ${id}` };
    const first = await here.alice.ok(restore(id, 1, { agent: 'copy' }, key));
    expect(await here.alice.ok(restore(id, 1, { agent: 'copy' }, key))).toEqual(first);
    const copy = await here.alice.ok(here.alice.get(`/api/agents/${first.agent_id}`));
    expect(copy).toMatchObject({ name: `${name} (version 1 of Office)`, system_prompt: 'Old.', created_by: 'local:alice' });
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('New.');
    expect(await agentOf(id)).toBe(copy.id);
    expect((await run(id)).agent_name).toBe(copy.name);
    // What the agent is called differs, and nothing else.
    expect(first.differences.map(({ path }: Version) => path)).toEqual(['agent.id', 'agent.name']);
  });

  it('with one copy of the agent, also if a server that died is followed by another', async () => {
    const id = await here.workflow();
    const key = { 'idempotency-key': `resumed ${id}` };
    const { agent_id } = await here.alice.ok(restore(id, 1, { agent: 'copy' }, key));
    await sql(
      `UPDATE idempotency_keys SET reply = NULL, created_at = created_at - interval '1 minute' WHERE key = $1`,
      `resumed ${id}`,
    );
    expect((await here.alice.ok(restore(id, 1, { agent: 'copy' }, key))).agent_id).toBe(agent_id);
    expect(await sql('SELECT id FROM agents WHERE id = $1', agent_id)).toHaveLength(1);
  });

  it('whose agent was deleted, with a copy', async () => {
    const id = await here.workflow({ agent: { system_prompt: 'Old.' } });
    const [gone, other] = [await agentOf(id), await agentOf(await here.workflow())];
    await set(`workflows/${id}`, { agent_id: other });
    await here.alice.ok(here.alice.del(`/api/agents/${gone}`), 204);
    for (const agent of [undefined, 'keep', 'change'])
      expect((await restore(id, 1, agent ? { agent } : {})).body).toMatchObject({ status: 409, code: 'agent_missing' });
    const { agent_id } = await here.alice.ok(restore(id, 1, { agent: 'copy' }));
    expect((await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`))).system_prompt).toBe('Old.');
  });

  it('unless only its definition is known, from before there were versions', async () => {
    const id = await here.workflow();
    await sql('UPDATE workflow_versions SET config = NULL WHERE workflow_id = $1', id);
    expect((await list(id))[0]?.restorable).toBe(false);
    expect((await restore(id, 1)).body).toMatchObject({ status: 409, code: 'version_without_settings' });
  });
});

describe('runs are found by their version', () => {
  it('by its number within the workflow, or by its hash', async () => {
    const id = await here.workflow();
    const [first, second] = [await run(id), await run(id)];
    await set(`workflows/${id}`, { max_turns: 9 });
    const third = await run(id);
    const other = await here.workflow();
    await run(other);
    const found = async (query: string) =>
      ((await here.alice.ok(here.alice.get(`/api/tasks${query}`))) as Version[]).map((task) => task.id);
    expect(await found(`?workflow_id=${id}&version=1`)).toEqual([second.id, first.id]);
    expect(await found(`?workflow_id=${id}&version=2`)).toEqual([third.id]);
    expect(await found(`?workflow_id=${id}&version=3`)).toEqual([]);
    expect(await found(`/workflow/${id}?version=2`)).toEqual([third.id]);
    expect(await found(`?definition_hash=${third.definition_hash}`)).toEqual([third.id]);
    const refused = await here.alice.get('/api/tasks?version=1');
    expect([refused.status, refused.body.errors[0].path]).toEqual([422, 'version']);
    expect((await here.bob.ok(here.bob.get(`/api/tasks?definition_hash=${third.definition_hash}`))) as unknown).toEqual([]);
  });
});
