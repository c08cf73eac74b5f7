import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { type World, worldOf } from './contract-world.ts';

let here: TestInstallation;
let world: World;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:alice' } });
  world = await worldOf(here);
});
afterAll(() => here.stop());

const refusal = (answer: { status: number; body: Record<string, any> }) => [answer.status, answer.body.errors?.[0]?.path];

interface Parameter {
  name: string;
  in: string;
  schema: { type?: string; enum?: string[]; format?: string };
}

describe('queries', () => {
  it('refuse values that a filter does not know, for every parameter of every operation', async () => {
    const { paths } = (await here.anonymous.get('/openapi.json')).body;
    const silent: string[] = [];
    let tried = 0;
    for (const [path, methods] of Object.entries(paths as Record<string, Record<string, { parameters?: Parameter[] }>>)) {
      if (!path.startsWith('/api/')) continue;
      for (const [method, { parameters = [] }] of Object.entries(methods)) {
        const judged = parameters.filter(
          ({ in: place, schema }) => place === 'query' && (schema.enum || schema.format || schema.type !== 'string'),
        );
        for (const { name } of judged) {
          tried += 1;
          const row = { method: method.toUpperCase(), path, request: '', response: '' } as never;
          const answer = await here.alice.send(method.toUpperCase(), `${await world.pathOf(row)}?${name}=no-such-value`);
          const wanted = judged.find((one) => one.name === name)?.schema.format === 'uuid' ? 404 : 422;
          if (answer.status !== wanted) silent.push(`${method} ${path}?${name}: ${answer.status}`);
        }
      }
    }
    expect(silent).toEqual([]);
    expect(tried).toBeGreaterThan(30);
  });

  it('refuse a filter that a list does not have, and apply the one of agents', async () => {
    expect((await here.alice.get('/api/providers?tag=x')).status).toBe(422);
    await here.alice.ok(here.alice.post('/api/agents', { name: 'tagged', knowledge_tags: ['blue'] }), 201);
    expect((await here.alice.get('/api/agents?tag=blue')).body.map(({ name }: { name: string }) => name)).toEqual(['tagged']);
  });
});

describe('saves', () => {
  it('refuse what cannot work', async () => {
    const { alice } = here;
    expect(refusal(await alice.post('/api/agents', { name: 'x', builtin_tools: ['web_serch'] }))).toEqual([
      422,
      'builtin_tools.0',
    ]);
    expect(refusal(await alice.post('/api/providers', { name: 'x', provider_type: 'openai_compatible' }))).toEqual([
      422,
      'base_url',
    ]);
  });

  it('say what runs would skip or rename', async () => {
    const { alice } = here;
    const tool = { name: 'bash', source_code: 'def bash():\n    return 1\n' };
    const made = await alice.ok(alice.post('/api/custom-tools', tool), 201);
    expect(made.warnings).toEqual([{ path: 'name', message: expect.stringContaining('custom_bash') }]);
    const agent = await alice.ok(alice.post('/api/agents', { name: 'skips', custom_tool_ids: [made.id] }), 201);
    expect(agent.warnings).toMatchObject([{ path: 'custom_tool_ids' }]);
    expect((await alice.get(`/api/agents/${agent.id}`)).body.warnings).toMatchObject([{ path: 'custom_tool_ids' }]);
  });

  it('an integer that is rounded is a warning, or with strict handling a refusal', async () => {
    const memory = (key: string, ids: string) =>
      `{"agent_id": "${world.ids.agents}", "key": "${key}", "value": "x", "metadata": {"ids": [1, ${ids}]}}`;
    const made = await here.alice.ok(here.alice.post('/api/memories', memory('rounded', '1234567890123456789')), 201);
    const message = '`metadata.ids.1` was read as 1234567890123456800, because a number holds about 15 digits; send it as a text';
    expect(made.warnings).toEqual([{ path: 'metadata.ids.1', message }]);
    expect(made.metadata).toEqual({ ids: [1, Number('1234567890123456800')] });
    const strict = { prefer: 'handling=strict' };
    const refused = await here.alice.post('/api/memories', memory('strict', '1234567890123456789'), strict);
    expect(refusal(refused)).toEqual([422, 'metadata.ids.1']);
    const exact = await here.alice.ok(here.alice.post('/api/memories', memory('exact', '9007199254740991'), strict), 201);
    expect(exact.warnings).toBeUndefined();
  });

  it("cannot distinguish another user's token from one that does not exist", async () => {
    await here.bob.ok(here.bob.post('/api/tokens', { name: 'of-bob', value: 'x' }), 201);
    const messages = [];
    for (const name of ['of-bob', 'nowhere']) {
      const body = { name: `p ${name}`, provider_type: 'openai', api_key_token_name: name };
      const { warnings, needs } = await here.alice.ok(here.alice.post('/api/providers', body), 201);
      messages.push(JSON.stringify({ warnings, needs }).replaceAll(name, 'NAME'));
    }
    expect(messages[0]).toBe(messages[1]);
  });
});

describe('imports', () => {
  it('carry guardrails, and make a workflow inactive whose guardrails are missing', async () => {
    const { alice } = here;
    const missing = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be999';
    const bundle = (await alice.get('/api/export')).body;
    expect(bundle.guardrails).toHaveLength(1);
    const items = [{ agent_id: world.ids.agents, title: 'unsafe', guardrail_ids: [missing] }];
    const result = await alice.ok(alice.post('/api/workflows/import', { items }), 201);
    expect(result.created).toBe(1);
    expect(JSON.stringify(result.warnings)).toContain(missing);
    expect((await alice.get(`/api/workflows/${result.ids[0]}`)).body).toMatchObject({ status: 'inactive', enabled: false });
    const guardrails = [
      { name: 'good', guardrail_type: 'prompt', config: { forbidden_patterns: ['x'] } },
      { name: 'bad', guardrail_type: 'prompt', config: { forbiden_patterns: ['x'] } },
    ];
    const whole = await alice.ok(alice.post('/api/import', { version: '1.0', guardrails }), 201);
    expect(whole.guardrails).toMatchObject({ created: 1, errors: [expect.stringContaining('forbidden_patterns')] });
    const agents = [{ name: 'imported', builtin_tools: ['nope'] }];
    expect((await alice.ok(alice.post('/api/agents/import', { items: agents }), 201)).errors[0]).toContain('nope');
  });
});

describe('statuses', () => {
  it('are right for missing, refused and malformed requests', async () => {
    const { alice } = here;
    expect((await alice.get(`/api/workflows/${world.ids.workflows}/stream?task_id=${world.ids.agents}`)).status).toBe(404);
    const other = await alice.ok(alice.post('/api/workflows', { agent_id: world.ids.agents }), 201);
    expect((await alice.get(`/api/workflows/${other.id}/stream?task_id=${world.ids.tasks}`)).status).toBe(404);
    const patched = await alice.patch(`/api/skills/${world.ids.skills}`, {});
    expect([patched.status, patched.headers.get('allow')]).toEqual([405, 'DELETE, GET, PUT']);
    expect((await alice.get('/api/no-such-thing')).status).toBe(404);
    const headers = { 'content-type': 'multipart/form-data' };
    const formless = await alice.send('POST', '/api/custom-tools/upload', { body: new Uint8Array([1]), headers });
    expect([formless.status, formless.body.detail]).toEqual([400, expect.stringContaining('Content-Type has no boundary')]);
    const keyless = await alice.ok(alice.post('/api/providers', { name: 'keyless', provider_type: 'openai' }), 201);
    expect(await alice.get(`/api/models?provider_id=${keyless.id}`)).toMatchObject({
      status: 502,
      body: { detail: expect.any(String) },
    });
  });

  it('keep a workflow that a schedule runs, unless it is forced', async () => {
    const { alice } = here;
    const { id } = await alice.ok(alice.post('/api/workflows', { agent_id: world.ids.agents }), 201);
    const schedule = { name: 's', workflow_id: id, prompt: 'x', interval_value: 1, interval_unit: 'weeks' };
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    const made = await alice.ok(alice.post('/api/scheduled-agents', { ...schedule, start_at }), 201);
    const off = await alice.ok(alice.post('/api/scheduled-agents', { ...schedule, name: 'off', start_at }), 201);
    expect(await alice.ok(alice.patch(`/api/scheduled-agents/${off.id}/disable`))).toMatchObject({ enabled: false });
    for (const { id } of [made, off]) await here.driver.client.schedule.getHandle(`schedule-${id}`).describe();
    expect(await alice.del(`/api/workflows/${id}`)).toMatchObject({ status: 409, body: { code: 'workflow_scheduled' } });
    expect((await alice.del(`/api/workflows/${id}?force=true`)).status).toBe(204);
    for (const { id } of [made, off]) {
      expect((await alice.get(`/api/scheduled-agents/${id}`)).status).toBe(404);
      // Its row goes with the workflow; the engine would still have it.
      await expect(here.driver.client.schedule.getHandle(`schedule-${id}`).describe()).rejects.toMatchObject({
        name: 'ScheduleNotFoundError',
      });
    }
  });
});

describe('refusals', () => {
  it('use words of this project, for every field of every body', async () => {
    const { paths } = (await here.anonymous.get('/openapi.json')).body;
    expect(Object.keys(paths).length).toBeGreaterThan(50);
    const theirs = /expected|received|Invalid (input|key|option|UUID|URL|string)|Too (small|big)|Unrecognized/;
    for (const [path, methods] of Object.entries(paths as Record<string, Record<string, { requestBody?: object }>>)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        if (!requestBody || !path.startsWith('/api/') || path.endsWith('/upload')) continue;
        const row = { method: method.toUpperCase(), path, request: 'x', response: '' } as never;
        const url = await world.pathOf(row);
        const valid = (world.bodyOf(row) ?? {}) as Record<string, unknown>;
        for (const wrong of [
          {},
          ...Object.keys(valid).flatMap((key) => [5, '', [1], { a: 1 }].map((value) => ({ ...valid, [key]: value }))),
          [1],
        ]) {
          const answer = await here.alice.send(method.toUpperCase(), url, { body: wrong });
          expect(JSON.stringify(answer.body.errors ?? ''), `${method} ${path}`).not.toMatch(theirs);
        }
      }
    }
    expect((await here.alice.post('/api/skills', {})).body.errors[0].message).toBe('`name` is required');
  });
});

describe('runs', () => {
  it('pass the value for a parameter without a hint as its default is typed', async () => {
    const source_code = 'def typed(a, n=5, on=True, many=[]):\n    return [type(v).__name__ for v in (a, n, on, many)]\n';
    const tool = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'typed', source_code, effect: 'read' }), 201);
    const args = { a: 'x', n: 7, on: false, many: [1] };
    const direct = await here.alice.ok(here.alice.post(`/api/custom-tools/${tool.id}/run`, { arguments: args }));
    expect([direct.error, JSON.parse(direct.result)]).toEqual([null, { result: ['str', 'int', 'bool', 'list'] }]);
    const refused = await here.alice.ok(
      here.alice.post(`/api/custom-tools/${tool.id}/run`, { arguments: { a: 'x', n: 'seven' } }),
    );
    expect([refused.success, refused.error]).toEqual([false, expect.stringContaining('`n` must be integer')]);
  });

  it('fit arguments to the tool, and name the field that does not fit', async () => {
    const source_code = 'def twice(n: int) -> int:\n    return n * 2\n';
    const tool = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'twice', source_code, effect: 'read' }), 201);
    const own = { name: 'fits', provider_id: world.ids.providers, custom_tool_ids: [tool.id] };
    const agent = await here.alice.ok(here.alice.post('/api/agents', own), 201);
    const { id: workflow_id } = await here.alice.ok(here.alice.post('/api/workflows', { agent_id: agent.id }), 201);
    here.model.script(asks({ name: 'twice', args: { n: '5' } }), asks({ name: 'twice', args: { n: 'five' } }), says('ok'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const { messages, logs } = (await here.alice.get(`/api/tasks/${task_id}`)).body;
    const results = messages
      .filter(({ role }: { role: string }) => role === 'tool')
      .map(({ content }: { content: string }) => content);
    expect(results).toEqual([expect.stringContaining('10'), expect.stringContaining('`n` must be integer')]);
    expect(logs.find(({ event }: { event: string }) => event === 'context_built')).toMatchObject({ tools: ['twice'] });
  });

  it('say which tools they were not offered', async () => {
    const tool = await here.alice.ok(
      here.alice.post('/api/custom-tools', { name: 'thrice', source_code: 'def thrice():\n    return 3\n' }),
      201,
    );
    const agent = await here.alice.ok(here.alice.post('/api/agents', { name: 'default', custom_tool_ids: [tool.id] }), 201);
    const workflow = await here.alice.ok(here.alice.post('/api/workflows', { agent_id: agent.id }), 201);
    here.model.script(says('ok'));
    const task_id = await here.prompt(workflow.id);
    await here.ended(task_id);
    const { logs } = (await here.alice.get(`/api/tasks/${task_id}`)).body;
    expect(logs.find(({ event }: { event: string }) => event === 'tools_not_offered')).toMatchObject({ tools: ['thrice'] });
    expect(logs.find(({ event }: { event: string }) => event === 'context_built')).toMatchObject({ tools: [] });
  });
});
