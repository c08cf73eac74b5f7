import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MEMORY_SCOPES } from '../../src/contracts/memories.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
});
afterAll(() => here.stop());

let made = 0;
const unique = (name: string) => `${name} ${++made}`;
const agent = async (more: object = {}) =>
  (await here.alice.ok(here.alice.post('/api/agents', { name: unique('agent'), ...more }), 201)).id as string;
const workflow = async (agent_id: string, more: object = {}) =>
  (await here.alice.ok(here.alice.post('/api/workflows', { agent_id, ...more }), 201)).id as string;

describe('skills', () => {
  it('keeps, changes and lists them by tag', async () => {
    const { alice } = here;
    const tag = unique('tag');
    const skill = await alice.ok(alice.post('/api/skills', { name: 'cite', instructions: 'Cite.', tags: [tag] }), 201);
    expect(skill).toMatchObject({ name: 'cite', description: '', instructions: 'Cite.', tags: [tag] });
    const changed = await alice.ok(alice.put(`/api/skills/${skill.id}`, { description: 'How to cite' }));
    expect(changed).toMatchObject({ name: 'cite', instructions: 'Cite.', description: 'How to cite', tags: [tag] });
    expect((await alice.get(`/api/skills?tag=${encodeURIComponent(tag)}`)).body).toMatchObject([{ id: skill.id }]);
    expect((await alice.put(`/api/skills/${skill.id}`, { name: null })).status).toBe(422);
  });

  it('stays while a workflow uses it, and the workflow is named', async () => {
    const { alice } = here;
    const skill = await alice.ok(alice.post('/api/skills', { name: 'used', instructions: 'x' }), 201);
    const id = await workflow(await agent(), { title: 'the user', skill_ids: [skill.id] });
    expect(await alice.del(`/api/skills/${skill.id}`)).toMatchObject({
      status: 409,
      body: { code: 'in_use', detail: expect.stringContaining('workflow the user') },
    });
    await alice.ok(alice.del(`/api/workflows/${id}`));
    expect((await alice.del(`/api/skills/${skill.id}`)).status).toBe(204);
  });
});

describe('agents', () => {
  it('are listed by the tags of their MCP servers and of their knowledge, any of them', async () => {
    const { alice } = here;
    const [red, blue, green] = ['red', 'blue', 'green'].map((tag) => unique(tag).replace(' ', '-'));
    const ids = [
      await agent({ mcp_server_tags: [red] }),
      await agent({ knowledge_tags: [blue] }),
      await agent({ knowledge_tags: [green] }),
    ];
    const listed = async (query: string) => (await alice.get(`/api/agents?${query}`)).body.map(({ id }: { id: string }) => id);
    expect(await listed(`tag=${red}`)).toEqual([ids[0]]);
    expect(await listed(`tag=${blue}`)).toEqual([ids[1]]);
    expect(await listed(`tags=${blue}, ${red}`)).toEqual([ids[1], ids[0]]);
    expect(await listed(`tag=${red?.slice(0, -1)}`)).toEqual([]);
  });
});

describe('guardrails', () => {
  it("fills in the defaults of a configuration's type and rejects wrong fields", async () => {
    const { alice } = here;
    const create = (values: object) => alice.post('/api/guardrails', { name: unique('guardrail'), ...values });
    const output = await alice.ok(create({ guardrail_type: 'output', config: { forbidden_patterns: ['x'] } }), 201);
    expect(output.config).toEqual({
      ...{ forbidden_patterns: ['x'], required_patterns: [], max_length: null, pii_detection: false, must_be_valid_json: false },
      action: 'warn',
    });
    const wrong = [
      { guardrail_type: 'prompt', config: { forbidden_patterns: ['ok', '(?=lookahead)'] } },
      { guardrail_type: 'prompt', config: { max_length: 'long' } },
      { guardrail_type: 'request', config: {} },
      { guardrail_type: 'request', config: { json_schema: { type: 'nonsense' } } },
      { guardrail_type: 'other' },
    ];
    const answers = await Promise.all(wrong.map(create));
    expect(answers.map(({ status, body }) => [status, body.errors[0].path])).toEqual([
      [422, 'config.forbidden_patterns.1'],
      [422, 'config.max_length'],
      [422, 'config.json_schema'],
      [422, 'config.json_schema'],
      [422, 'guardrail_type'],
    ]);
    expect(await alice.put(`/api/guardrails/${output.id}`, { guardrail_type: 'prompt' })).toMatchObject({ status: 422 });
  });

  it('tries a text', async () => {
    const { alice } = here;
    const config = { pii_detection: true, forbidden_patterns: ['(?i)secret'], action: 'redact' };
    const values = { name: unique('guardrail'), guardrail_type: 'output', enabled: false, config };
    const { id } = await alice.ok(alice.post('/api/guardrails', values), 201);
    const check = (text: string) => alice.ok(alice.post(`/api/guardrails/${id}/check`, { text }));
    expect(await check('All is well')).toEqual({ passed: true, action: null, violations: [], text: 'All is well' });
    const found = await check('A SECRET of bob@example.com, +41 44 668 18 00, 4111 1111 1111 1111');
    expect(found.text).toBe('A [REDACTED] of [REDACTED], [REDACTED], [REDACTED]');
    expect(found.violations.join()).toContain('personal data (e-mail address, card number, phone number)');
    const prompt = { name: unique('guardrail'), guardrail_type: 'prompt', config: { forbidden_patterns: ['secret'] } };
    const { id: prompt_id } = await alice.ok(alice.post('/api/guardrails', prompt), 201);
    const checkPrompt = (text: string) => alice.ok(alice.post(`/api/guardrails/${prompt_id}/check`, { text }));
    expect(await checkPrompt('All is well')).toEqual({ passed: true, action: null, violations: [], text: 'All is well' });
    const violations = [expect.stringContaining('secret')];
    expect(await checkPrompt('A secret')).toEqual({ passed: false, action: 'block', violations, text: null });
    const listed = async (type: string) =>
      (await alice.get(`/api/guardrails?guardrail_type=${type}&limit=200`)).body.map((one: { id: string }) => one.id);
    const [prompts, outputs] = [await listed('prompt'), await listed('output')];
    expect([prompts.includes(prompt_id), prompts.includes(id), outputs.includes(prompt_id), outputs.includes(id)]).toEqual([
      ...[true, false, false, true],
    ]);
  });

  it('matches a catastrophic pattern in no time', async () => {
    const { alice } = here;
    const config = { forbidden_patterns: ['(a+)+$', '(a|a)*b', '(x+x+)+y'] };
    const { id } = await alice.ok(alice.post('/api/guardrails', { name: unique('g'), guardrail_type: 'prompt', config }), 201);
    await alice.ok(alice.post(`/api/guardrails/${id}/check`, { text: `${'a'.repeat(50_000)}!` }));
  });
});

describe('MCP servers', () => {
  it('never returns a secret, keeps it when the mask comes back, and leaves references to stored tokens readable', async () => {
    const { alice } = here;
    await alice.ok(alice.post('/api/tokens', { name: 'mcp-key', value: 'CANARY-token' }), 201);
    const connection_config = {
      url: 'https://mcp.example.com/?api_key=CANARY-query',
      headers: { Authorization: 'Bearer CANARY-header', 'X-Ref': 'Bearer {{token:mcp-key}}' },
    };
    const values = { name: unique('server'), transport_type: 'http', connection_config };
    const created = await alice.post('/api/mcps', values);
    expect(created.status).toBe(201);
    expect(created.body.connection_config.headers).toEqual({ Authorization: '********', 'X-Ref': 'Bearer {{token:mcp-key}}' });
    const { id } = created.body;
    const changed = await alice.ok(alice.put(`/api/mcps/${id}`, { connection_config: created.body.connection_config }));
    const all = JSON.stringify([created.body, changed, (await alice.get('/api/mcps')).body]);
    expect(all).not.toContain('CANARY');
    expect((await here.core.store.mcpServers.findOpened(id))?.connection_config).toEqual(connection_config);
    const { rows } = await here.core.database.pool.query('SELECT connection_config::text AS text FROM mcp_servers');
    expect(JSON.stringify(rows)).not.toContain('CANARY');
    expect((await alice.get('/api/tokens?q=mcp-key')).body[0].used_by).toEqual([`MCP server ${created.body.name}`]);
  });

  it('imports the common JSON entry by entry', async () => {
    const { alice } = here;
    const mcpServers = {
      [unique('files')]: { command: 'npx', args: ['-y', 'files-mcp'], env: { API_KEY: 'CANARY' } },
      [unique('events')]: { type: 'sse', url: 'https://mcp.example.com/sse' },
      broken: { url: 'not a url' },
      unknown: { url: 'https://mcp.example.com', headers: { Authorization: 'Bearer {{token:nowhere}}' } },
    };
    const result = await alice.ok(alice.post('/api/mcps/import', { mcpServers }), 201);
    expect(result).toMatchObject({ created: 3, ids: Array(3).fill(expect.any(String)) });
    expect(result.errors).toEqual([expect.stringMatching(/^broken: .*url/)]);
    expect(result.warnings).toContainEqual({
      path: 'mcpServers.unknown.connection_config',
      message: expect.stringContaining('nowhere'),
    });
    const first = await alice.ok(alice.get(`/api/mcps/${result.ids[0]}`));
    expect(first).toMatchObject({ transport_type: 'stdio', connection_config: { command: 'npx', env: { API_KEY: '********' } } });
    const allowed = await alice.ok(alice.put(`/api/mcps/${first.id}/tools`, { allowed_tools: ['read'] }));
    expect(allowed.allowed_tools).toEqual(['read']);
  });

  it('warns about packages without an exact version, and about launchers that name none', async () => {
    const [exact, loose, python, other] = [unique('exact'), unique('loose'), unique('python'), unique('other')];
    const mcpServers = {
      [exact]: { command: 'npx', args: ['-y', '@org/files@1.2.3'] },
      [loose]: { command: 'npx', args: ['-y', 'files@latest'] },
      [python]: { command: 'uvx', args: ['files==1.2'] },
      [other]: { command: 'npx', args: ['github:org/files'] },
    };
    const { warnings } = await here.alice.ok(here.alice.post('/api/mcps/import', { mcpServers }), 201);
    const said = (warnings as { path: string; message: string }[]).filter(({ path }) => path.endsWith('.command'));
    expect(said.filter(({ message }) => !message.includes('ALLOW_STDIO_MCP'))).toEqual([
      { path: `mcpServers.${loose}.command`, message: expect.stringContaining('files@latest names no exact version') },
      { path: `mcpServers.${other}.command`, message: expect.stringContaining('`npx -y NAME@VERSION …`') },
    ]);
  });

  it('imports a disabled entry as a disabled server, and names what will not work here', async () => {
    const { alice } = here;
    const placeholder = (name: string) => '$'.concat(`{${name}}`);
    const [off, local, remote] = [unique('off'), unique('local'), unique('remote')];
    const mcpServers = {
      [off]: { url: 'https://mcp.example.com', disabled: true },
      [local]: {
        command: 'no-such-command',
        args: ['/no/such/folder', `${placeholder('workspaceFolder')}/x`],
        env: { KEY: placeholder('env:KEY'), LITERAL: 'abc', EMPTY: '', STORED: '{{token:other}}' },
        cwd: '.',
      },
      [remote]: { type: 'sse', url: 'https://mcp.example.com/sse', headers: { 'X-Key': 'abc', Other: '{{token:other}}' } },
    };
    const { ids, warnings } = await alice.ok(alice.post('/api/mcps/import', { mcpServers }), 201);
    const enabled = ids.map(async (id: string) => (await alice.ok(alice.get(`/api/mcps/${id}`))).is_enabled);
    expect(await Promise.all(enabled)).toEqual([false, true, true]);
    const said = (name: string) =>
      (warnings as { path: string; message: string }[])
        .filter(({ path }) => path.startsWith(`mcpServers.${name}.`))
        .map(({ path, message }) => `${path.slice(`mcpServers.${name}.`.length)}: ${message}`);
    expect(said(off)).toEqual([]);
    expect(said(local).sort()).toEqual([
      expect.stringMatching(/^args\.0: There is nothing at \/no\/such\/folder/),
      expect.stringMatching(/^args\.1: Its placeholder is not filled in here/),
      expect.stringMatching(/^command: There is no command no-such-command/),
      expect.stringMatching(/^command: This installation starts no commands/),
      expect.stringMatching(/^connection_config: You have no stored token named other/),
      expect.stringMatching(/^cwd: `cwd` is not a field/),
      expect.stringMatching(/^env\.KEY: Its placeholder is not filled in here/),
      expect.stringMatching(/^env: The values of LITERAL are stored encrypted/),
    ]);
    expect(said(remote).sort()).toEqual([
      expect.stringMatching(/^connection_config: You have no stored token named other/),
      expect.stringMatching(/^headers: The values of X-Key are stored encrypted/),
      expect.stringMatching(/^type: `sse` is the older transport/),
    ]);
  });

  it('imports what other programs write, with comments, and refuses a bad entry alone', async () => {
    const { alice } = here;
    const [good, odd, bad] = [unique('good'), unique('odd'), unique('bad')];
    const text = `{
      // settings of an editor
      "servers": {
        "${good}": { "type": "http", "httpUrl": "https://mcp.example.com/mcp", "includeTools": ["read"], },
        "${odd}": { "command": ["no-such-command", "x"], "environment": { "PORT": 8080, "DEBUG": true }, "enabled": false },
        "${bad}": { "command": 5 }, /* not a command */
      },
    }`;
    const result = await alice.ok(alice.post('/api/mcps/import', text, { 'content-type': 'application/json' }), 201);
    expect(result).toMatchObject({ created: 2, errors: [expect.stringMatching(new RegExp(`^${bad}: .*command`))] });
    const [first, second] = await Promise.all(result.ids.map((id: string) => alice.ok(alice.get(`/api/mcps/${id}`))));
    expect(first).toMatchObject({ transport_type: 'http', allowed_tools: ['read'] });
    expect(first.connection_config).toEqual({ url: 'https://mcp.example.com/mcp', headers: {} });
    expect(second).toMatchObject({ transport_type: 'stdio', is_enabled: false, connection_config: { args: ['x'] } });
    const none = await alice.post('/api/mcps/import', { other: 1 });
    expect([none.status, none.body.errors[0].path]).toEqual([422, 'mcpServers']);
  });

  it('refuses a connection that does not fit the transport', async () => {
    const { alice } = here;
    const values = { name: unique('server'), transport_type: 'stdio', connection_config: { url: 'https://x.example' } };
    expect(await alice.post('/api/mcps', values)).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'connection_config.command' }] },
    });
  });
});

describe('memories', () => {
  it('writes a key once, finds it by its words, and forgets it when it expires', async () => {
    const { alice } = here;
    const agent_id = await agent();
    const remember = (values: object) => alice.ok(alice.post('/api/memories', { agent_id, ...values }), 201);
    const first = await remember({ key: 'colour', value: 'The favourite colour is green' });
    const second = await remember({ key: 'colour', value: 'The favourite colour is blue' });
    expect(second).toMatchObject({ id: first.id, scope: 'agent', workflow_id: null, value: 'The favourite colour is blue' });
    await remember({ key: 'old', value: 'green once', ttl: '2020-01-01T00:00:00Z' });
    const found = (await alice.post('/api/memories/search', { agent_id, query: 'what COLOUR is it? green' })).body;
    expect(found).toMatchObject([{ key: 'colour', score: expect.any(Number) }]);
    expect((await alice.get(`/api/memories?agent_id=${agent_id}`)).body).toHaveLength(1);
    expect((await alice.get(`/api/memories/stm/${agent_id}`)).body).toMatchObject([{ key: 'colour' }]);
    const changed = await alice.ok(alice.put(`/api/memories/${first.id}`, { ttl: '2001-01-01T00:00:00+01:00' }));
    expect(changed.ttl).toBe('2000-12-31T23:00:00.000Z');
    expect((await alice.get(`/api/memories/${first.id}`)).status).toBe(404);
  });

  it('keeps a session memory to its workflow, and goes with its agent', async () => {
    const { alice } = here;
    const agent_id = await agent();
    expect(await alice.post('/api/memories', { agent_id, scope: 'session', key: 'k', value: 'v' })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'workflow_id' }] },
    });
    const workflow_id = await workflow(agent_id);
    const memory = await alice.ok(
      alice.post('/api/memories', { agent_id, workflow_id, scope: 'session', key: 'k', value: 'v' }),
      201,
    );
    expect(memory.workflow_id).toBe(workflow_id);
    const { memories } = here.core.store;
    expect(await memories.newest({ agent_id, viewer: here.people.alice.subject, limit: 5 })).toHaveLength(1);
    expect(await memories.newest({ agent_id, viewer: here.people.bob.subject, limit: 5 })).toHaveLength(0);
    await alice.ok(alice.del(`/api/workflows/${workflow_id}`));
    await alice.ok(alice.del(`/api/agents/${agent_id}`));
    expect((await alice.get(`/api/memories/${memory.id}`)).status).toBe(404);
  });

  it('finds within a scope the memories of that scope alone, and of every scope without one', async () => {
    const { memories } = here.core.store;
    const [agent_id, other_agent] = [await agent(), await agent()];
    const [workflow_id, other_workflow] = [await workflow(agent_id), await workflow(agent_id)];
    // Only administrators write global memories through the API.
    const remember = (values: { agent_id: string; scope: string; key: string; workflow_id?: string }) =>
      memories.create({ value: 'a heron stood here', created_by: here.people.alice.subject, ...values });
    for (const scope of MEMORY_SCOPES)
      for (const number of [1, 2])
        await remember({ agent_id, scope, key: `${scope} ${number}`, ...(scope === 'session' && { workflow_id }) });
    await remember({ agent_id, scope: 'session', key: 'session of another workflow', workflow_id: other_workflow });
    await remember({ agent_id: other_agent, scope: 'agent', key: 'agent of another' });
    const search = async (more: object) => {
      const found = await here.alice.ok(
        here.alice.post('/api/memories/search', { agent_id, workflow_id, query: 'heron', ...more }),
      );
      return found.map(({ key }: { key: string }) => key).sort();
    };
    const keysOf = (scope: string) => [`${scope} 1`, `${scope} 2`];
    for (const scope of MEMORY_SCOPES) expect(await search({ scope })).toEqual(keysOf(scope));
    expect(await search({})).toEqual(MEMORY_SCOPES.flatMap(keysOf).sort());
    for (const { id } of await memories.newest({ agent_id, viewer: here.people.alice.subject, limit: 20 }))
      await memories.remove(id);
  });

  it('gives the newest twenty of an agent, the newest first', async () => {
    const [agent_id, other] = [await agent(), await agent()];
    const write = (key: string, of = agent_id) =>
      here.alice.ok(here.alice.post('/api/memories', { agent_id: of, key, value: 'x' }), 201);
    for (let number = 1; number <= 22; number += 1) await write(`key ${number}`);
    await write('of another', other);
    const newest = (await here.alice.get(`/api/memories/stm/${agent_id}`)).body.map(({ key }: { key: string }) => key);
    expect(newest).toEqual(Array.from({ length: 20 }, (_, index) => `key ${22 - index}`));
  });

  it('refuses an agent that does not exist', async () => {
    const values = { agent_id: '01900000-0000-7000-8000-000000000000', key: 'k', value: 'v' };
    expect(await here.alice.post('/api/memories', values)).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'agent_id' }] },
    });
  });
});
