import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallSettingFields } from '../../src/contracts/call-settings.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { versionsAt } from '../support/runs/versions.ts';

let here: TestInstallation;
let at: ReturnType<typeof versionsAt>;

beforeAll(async () => {
  here = await startTestInstallation();
  here.model.always(says('Done.'));
  at = versionsAt(here);
});
afterAll(() => here.stop());

describe('a version comes into being', () => {
  it('when the workflow is saved with another definition', async () => {
    const id = await here.workflow();
    expect(await at.numbers(id)).toEqual([[1, 'saved', 0, true]]);
    await at.set(`workflows/${id}`, { max_turns: 9 });
    await at.set(`workflows/${id}`, { max_turns: 9 });
    expect(await at.numbers(id)).toEqual([
      [2, 'saved', 0, true],
      [1, 'saved', 0, false],
    ]);
    const [newest] = await at.list(id);
    expect(newest).toMatchObject({ created_by: 'alice', restorable: true });
    expect(newest?.definition_hash).toBe((await at.run(id)).definition_hash);
  });

  it('when a skill is installed or removed', async () => {
    const id = await here.workflow();
    const skill = await at.make('skills', { name: 'tone', instructions: 'Be kind.' });
    await here.alice.ok(here.alice.post(`/api/workflows/${id}/skills/${skill}`));
    expect(await at.numbers(id)).toHaveLength(2);
    await here.alice.ok(here.alice.del(`/api/workflows/${id}/skills/${skill}`));
    expect((await at.list(id)).map(({ number, current }) => [number, current])).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  it('with the first run after something shared has changed', async () => {
    const id = await here.workflow();
    await at.run(id);
    await at.set(`agents/${await at.agentOf(id)}`, { system_prompt: 'Answer in verse.' });
    expect(await at.numbers(id)).toEqual([[1, 'saved', 1, false]]);
    await at.run(id);
    await at.run(id);
    expect(await at.numbers(id)).toEqual([
      [2, 'run', 2, true],
      [1, 'saved', 1, false],
    ]);
  });

  it('once, with as many first runs at the same time as there are', async () => {
    const id = await here.workflow();
    await at.set(`agents/${await at.agentOf(id)}`, { system_prompt: 'Answer in prose.' });
    await Promise.all(Array.from({ length: 4 }, () => at.run(id)));
    expect((await at.list(id)).map(({ origin, runs }) => [origin, runs])).toEqual([
      ['run', 4],
      ['saved', 0],
    ]);
  });

  it('with a prompt that overrides a setting, and is no longer the current one', async () => {
    const id = await here.workflow();
    await at.run(id, { reasoning_effort: 'high' });
    expect(await at.numbers(id)).toEqual([
      [2, 'run', 1, false],
      [1, 'saved', 0, true],
    ]);
    expect(await at.changed(id, 2, 1)).toEqual([
      { path: 'settings.reasoning_effort', kind: 'changed', before: null, after: 'high' },
    ]);
    expect((await here.alice.ok(at.restore(id, 2))).exact).toBe(true);
    expect((await at.workflowOf(id)).reasoning_effort).toBe('high');
  });

  it('whose settings come back as they were, each of them', async () => {
    const id = await here.workflow();
    const settings = {
      ...{ temperature: 0.3, top_p: 0.7, max_output_tokens: 1_009, stop: ['END'], parallel_tool_calls: false },
      ...{ service_tier: 'flex', verbosity: 'low' },
      ...{ max_turns: 11, reasoning_effort: 'low', output_schema: { type: 'object', properties: { a: { type: 'string' } } } },
    };
    expect(Object.keys(CallSettingFields).filter((name) => !(name in settings))).toEqual([]);
    await at.set(`workflows/${id}`, settings);
    const before = await at.workflowOf(id);
    expect(before).toMatchObject(settings);
    await at.set(`workflows/${id}`, {
      ...{ temperature: 0.5, top_p: null, max_output_tokens: 13, stop: [], parallel_tool_calls: null },
      ...{ service_tier: 'priority', verbosity: null },
      ...{ max_turns: 17, reasoning_effort: 'high', output_schema: null },
    });
    expect((await here.alice.ok(at.restore(id, 2))).exact).toBe(true);
    expect(await at.workflowOf(id)).toMatchObject(settings);
  });

  it('of a fork never: it has the version of its source', async () => {
    const id = await here.workflow();
    const source = await at.run(id);
    await at.set(`workflows/${id}`, { max_turns: 9 });
    const { task_id } = await here.alice.ok(here.alice.post(`/api/tasks/${source.id}/fork`, { from_step: 1 }), 201);
    await here.ended(task_id);
    expect((await at.list(id)).map(({ number, runs }) => [number, runs])).toEqual([
      [2, 0],
      [1, 2],
    ]);
  });

  it('not for a workflow that was made for one request', async () => {
    const id = await here.workflow();
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${await at.agentOf(id)}`));
    const body = { model: name, messages: [{ role: 'user', content: 'x' }] };
    await here.alice.ok(here.alice.post('/v1/chat/completions', body));
    const [single] = await here.sql('SELECT id, version_count FROM workflows WHERE single_use');
    expect(single?.version_count).toBe(0);
    expect(await here.sql('SELECT 1 FROM workflow_versions WHERE workflow_id = $1', single?.id)).toEqual([]);
  });
});

describe('of versions that never ran', () => {
  it('the newest twenty are kept, and every one that ran', async () => {
    const id = await here.workflow();
    await at.run(id);
    for (let max_turns = 10; max_turns < 32; max_turns++) await at.set(`workflows/${id}`, { max_turns });
    expect((await at.list(id)).map(({ number }) => number)).toEqual([...Array.from({ length: 20 }, (_, at) => 23 - at), 1]);
    expect(await at.list(id, '?limit=2')).toHaveLength(2);
  });
});

describe('a version is read', () => {
  it('with what its runs work with, and without secrets', async () => {
    const server = await at.make('mcps', {
      name: 'vault',
      transport_type: 'http',
      connection_config: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer swordfish' } },
    });
    const tools = ['def doubled(n: int) -> int:\n    return n * 2\n'];
    const id = await here.workflow({ agent: { mcp_server_ids: [server], system_prompt: 'Guard it.' }, tools });
    await at.set(`mcps/${server}`, {
      connection_config: { url: 'http://127.0.0.1:9/mcp', headers: { Authorization: 'Bearer tuna' } },
    });
    await at.set(`workflows/${id}`, { title: 'Vault' });
    const { definition } = await at.version(id, 1);
    expect(definition.agent.system_prompt).toBe('Guard it.');
    expect(definition.tools[0].source_code).toContain('return n * 2');
    expect(definition.mcp_servers[0].connection_config.headers).toEqual({ Authorization: '********' });
    const changes = await at.changed(id, 2, 1);
    expect(changes.map(({ path, kind }) => [path, kind])).toEqual([
      ['workflow.title', 'changed'],
      ['mcp_servers[vault].connection_config.headers.Authorization', 'changed'],
    ]);
    expect(JSON.stringify([changes, await at.version(id, 2)])).not.toMatch(/swordfish|tuna|sealed/);
  });

  it('against another one and against what the next run would use', async () => {
    const id = await here.workflow({ workflow: { max_turns: 3 } });
    await at.set(`workflows/${id}`, { max_turns: 4, budget: { max_tokens: 100 } });
    const turns = { path: 'settings.max_turns', kind: 'changed', before: 3, after: 4 };
    expect(await at.changed(id, 2, 1)).toEqual([expect.objectContaining({ path: 'budget', before: null }), turns]);
    await at.set(`agents/${await at.agentOf(id)}`, { system_prompt: 'New.' });
    expect(await at.changed(id, 2, 'current')).toEqual([
      expect.objectContaining({ path: 'agent.system_prompt', before: 'New.' }),
    ]);
    expect((await at.version(id, 2)).changes).toBeUndefined();
  });

  it('by its owner only, by its number', async () => {
    const id = await here.workflow();
    const other = await here.workflow();
    await at.set(`workflows/${other}`, { max_turns: 9 });
    const got = (path: string) => here.alice.get(`/api/workflows/${id}/versions/${path}`);
    expect((await got('2')).body).toMatchObject({ status: 404, detail: 'This workflow has no version 2' });
    expect((await got('1?against=2')).status).toBe(404);
    expect((await got('0')).status).toBe(404);
    expect((await got('one')).status).toBe(404);
    expect((await got('99999999999')).status).toBe(404);
    expect((await got('1?against=latest')).status).toBe(422);
    expect((await here.bob.get(`/api/workflows/${id}/versions`)).status).toBe(403);
    expect((await here.bob.get(`/api/workflows/${id}/versions/1`)).status).toBe(403);
    expect((await here.bob.post(`/api/workflows/${id}/versions/1/restore`, {})).status).toBe(403);
  });
});

describe('runs are found by their version', () => {
  it('by its number within the workflow, or by its hash', async () => {
    await at.run(await here.workflow());
    const id = await here.workflow();
    const [first, second] = [await at.run(id), await at.run(id)];
    await at.set(`workflows/${id}`, { max_turns: 9 });
    const third = await at.run(id);
    const found = async (query: string) =>
      ((await here.alice.ok(here.alice.get(`/api/tasks${query}`))) as Record<string, any>[]).map((task) => task.id);
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
