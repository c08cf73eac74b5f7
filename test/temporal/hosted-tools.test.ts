import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { type CompatibleVendor, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';

let here: TestInstallation;
let vendor: CompatibleVendor;
beforeAll(async () => {
  here = await shareInstallation();
  vendor = await startCompatibleVendor(vendors.anthropic);
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'vendor-key', value: 'canary-vendor-key' }));
});
afterAll(async () => {
  await vendor?.stop();
  await here?.stop();
});

const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['news.example'] };
const HOSTED = [
  SEARCH,
  { type: 'web_fetch_20250910', name: 'web_fetch', citations: { enabled: true } },
  { type: 'code_execution_20250825', name: 'code_execution' },
];

type Values = Record<string, unknown>;

async function providerOf(values: object = {}): Promise<string> {
  const provider = { name: crypto.randomUUID(), api_key_token_name: 'vendor-key', default_model: 'm', base_url: vendor.url };
  const made = here.alice.post('/api/providers', { ...provider, provider_type: 'anthropic_messages', ...values });
  return (await here.alice.ok(made, 201)).id;
}

const agentOf = async (values: Values = {}) =>
  here.alice.ok(
    here.alice.post('/api/agents', { name: crypto.randomUUID(), provider_id: await providerOf(), ...values }),
    201,
  ) as Promise<Values & { id: string }>;

/** The agent of a workflow whose agent has the hosted tools. */
async function hosting(agent: Values = {}, workflow: Values = {}) {
  const provider_id = await providerOf();
  const id = await here.workflow({ ...workflow, agent: { provider_id, model: null, tool_definitions: [SEARCH], ...agent } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
  return { id, agent_id: agent_id as string, provider_id };
}

const search = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: { query: 'rain' } });
const found = (id: string) => ({
  ...{ type: 'web_search_tool_result', tool_use_id: id },
  content: [{ type: 'web_search_result', url: 'https://news.example', title: 'Rain', encrypted_content: 'c2VhbGVk' }],
});
const cited = { type: 'text', text: 'It rains.', citations: [{ type: 'web_search_result_location', cited_text: 'Rain.' }] };

describe('a tool that the vendor runs', () => {
  it('is accepted with a provider whose vendor runs it, and kept as it came', async () => {
    const agent = await agentOf({ tool_definitions: HOSTED });
    expect(agent.tool_definitions).toEqual(HOSTED);
    const back = await here.alice.put(`/api/agents/${agent.id}`, agent, { prefer: 'handling=strict' });
    expect([back.status, back.body.tool_definitions]).toEqual([200, HOSTED]);
    const values = { name: crypto.randomUUID(), provider_id: agent.provider_id, tool_definitions: HOSTED };
    const imported = await here.alice.ok(here.alice.post('/api/agents/import', { items: [values] }), 201);
    expect((await here.alice.ok(here.alice.get(`/api/agents/${imported.ids[0]}`))).tool_definitions).toEqual(HOSTED);
  });

  it.each<[string, Values, RegExp]>([
    ['the default runtime', { provider_id: null }, /this agent uses the default runtime/],
    ['openai', { provider_type: 'openai', base_url: null }, /a provider of type `openai`\. Give/],
    ['openai_compatible', { provider_type: 'openai_compatible' }, /`openai_compatible`\. Give/],
    ['anthropic', { provider_type: 'anthropic', base_url: null }, /a provider of type `anthropic`\. Give/],
  ])('is refused with %s, which does not run it', async (_, { provider_id, ...kind }, sentence) => {
    const other = provider_id === null ? null : await providerOf(kind);
    const fault = (path: string) => [{ path, message: expect.stringMatching(sentence) }];
    const values = { name: crypto.randomUUID(), provider_id: other, tool_definitions: [SEARCH] };
    const made = await here.alice.post('/api/agents', values);
    expect([made.status, made.body.errors]).toEqual([422, fault('tool_definitions.0')]);
    const hosted = await agentOf({ tool_definitions: [SEARCH] });
    const moved = await here.alice.put(`/api/agents/${hosted.id}`, { provider_id: other });
    expect([moved.status, moved.body.errors]).toEqual([422, fault('provider_id')]);
    const bare = await agentOf({ provider_id: other });
    const given = await here.alice.put(`/api/agents/${bare.id}`, { tool_definitions: [SEARCH] });
    expect([given.status, given.body.errors]).toEqual([422, fault('tool_definitions.0')]);
    const imported = await here.alice.post('/api/agents/import', { items: [values] });
    expect([imported.body.imported ?? 0, JSON.stringify(imported.body)]).toEqual([0, expect.stringMatching(sentence)]);
  });

  it('of another form than its vendor takes is refused with what is wrong', async () => {
    const provider_id = await providerOf();
    for (const [tool, sentence] of [
      [{ type: 'web_search_20250305', name: 'find' }, /`name: "web_search"`/],
      [{ type: 'web_search_20250305' }, /`name: "web_search"`/],
      [{ ...SEARCH, cache_control: { type: 'ephemeral' } }, /Leave out `cache_control`/],
      [{ ...SEARCH, function: { name: 'f' } }, /takes no `function`/],
    ] as const) {
      const made = await here.alice.post('/api/agents', { name: crypto.randomUUID(), provider_id, tool_definitions: [tool] });
      expect([made.status, made.body.errors]).toEqual([
        422,
        [{ path: 'tool_definitions.0', message: expect.stringMatching(sentence) }],
      ]);
    }
    const twice = {
      name: crypto.randomUUID(),
      provider_id,
      tool_definitions: [SEARCH, { ...SEARCH, type: 'web_search_20260209' }],
    };
    expect((await here.alice.post('/api/agents', twice)).body.errors).toEqual([
      { path: 'tool_definitions.1', message: expect.stringMatching(/one tool named `web_search`/) },
    ]);
  });

  it.each<[string, Values, RegExp]>([
    ['its name', { approval_tools: ['web_search'] }, /`web_search` cannot guard.*without asking/],
    ['the name after its kind', { approval_tools: ['hosted_web_search'] }, /`hosted_web_search` cannot guard/],
    ['its name, which fits another tool, too', { approval_tools: ['web_search'], builtin_tools: ['web_search'] }, /cannot guard/],
    ['an effect', { approve_effects: ['write'] }, /`approve_effects` cannot guard `web_search`/],
  ])('cannot be guarded by %s', async (_, guard, sentence) => {
    const path = Object.keys(guard)[0];
    const refused = [422, [{ path, message: expect.stringMatching(sentence) }]];
    const provider_id = await providerOf();
    const made = await here.alice.post('/api/agents', {
      ...{ name: crypto.randomUUID(), provider_id, tool_definitions: [SEARCH] },
      ...guard,
    });
    expect([made.status, made.body.errors]).toEqual(refused);
    const hosted = await agentOf({ tool_definitions: [SEARCH] });
    const guarded = await here.alice.put(`/api/agents/${hosted.id}`, guard);
    expect([guarded.status, guarded.body.errors]).toEqual(refused);
    const imported = await here.alice.post('/api/agents/import', {
      items: [{ name: crypto.randomUUID(), provider_id, tool_definitions: [SEARCH], ...guard }],
    });
    expect(JSON.stringify(imported.body.errors)).toMatch(sentence.source.includes('without') ? /cannot guard/ : sentence);
  });

  it('may come to an agent whose guard of that name goes', async () => {
    const agent = await agentOf({ builtin_tools: ['web_fetch'], approval_tools: ['web_fetch'] });
    const tool_definitions = [HOSTED[1]];
    const added = await here.alice.put(`/api/agents/${agent.id}`, { tool_definitions });
    expect([added.status, added.body.errors?.[0].path]).toEqual([422, 'approval_tools']);
    const moved = await here.alice.put(`/api/agents/${agent.id}`, { tool_definitions, approval_tools: [] });
    expect(moved.status).toBe(200);
    expect(moved.body.warnings).toEqual([
      { path: 'builtin_tools', message: expect.stringMatching(/offered as builtin_web_fetch/) },
    ]);
  });

  it('is called there, and what it found is in the run and in what is sent later', async () => {
    const { id } = await hosting({ builtin_tools: ['manage_todo_list', 'web_fetch'] });
    const plan = { type: 'tool_use', id: 'toolu_1', name: 'manage_todo_list', input: { todoList: [] } };
    vendor.script(
      messageAnswer([search('a'), found('a')], { stop: 'pause_turn' }),
      messageAnswer([{ type: 'text', text: 'Let me plan.' }, plan], { stop: 'tool_use' }),
      messageAnswer([search('b'), found('b'), cited]),
    );
    const before = vendor.requests.length;
    const task = await here.ended(await here.prompt(id));
    expect(task).toMatchObject({ status: 'completed', response: 'It rains.' });
    const [first, second, third] = vendor.requests.slice(before);
    expect(first!.tools).toEqual([
      SEARCH,
      expect.objectContaining({ name: 'web_fetch' }),
      expect.objectContaining({ name: 'manage_todo_list' }),
    ]);
    expect(second!.messages.at(-1)).toEqual({ role: 'assistant', content: [search('a'), found('a')] });
    expect(third!.messages[1].content).toMatchObject([search('a'), found('a'), { text: 'Let me plan.' }, { type: 'tool_use' }]);
    expect(vendor.refused()).toBe(0);
    expect(task.usage).toMatchObject({ total_in: 27, total_out: 12 });
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
    expect(logs.filter(({ ran_at }: Values) => ran_at === 'provider')).toMatchObject([
      { event: 'tool_call', name: 'web_search', call_id: 'a' },
      { event: 'tool_result', name: 'web_search', failed: false, result: expect.stringContaining('news.example') },
      { event: 'tool_call', call_id: 'b' },
      { event: 'tool_result', call_id: 'b' },
    ]);
    expect(logs.find(({ event }: Values) => event === 'context_built')).toMatchObject({
      tools: expect.arrayContaining(['web_search', 'manage_todo_list']),
    });
    const asked = await here.alice.ok(here.alice.get(`/api/tasks/${task.id}/steps/2/request`));
    const { type, name, ...parameters } = SEARCH;
    expect(asked.tools[0]).toEqual({ name, description: expect.stringContaining(type), parameters });
  });

  it('keeps its name, which no other tool of the run gets', async () => {
    const code = { name: 'web_search', source_code: 'def web_search() -> str:\n    return "mine"\n' };
    const tool = await here.alice.ok(here.alice.post('/api/custom-tools', code), 201);
    const { id } = await hosting({ custom_tool_ids: [tool.id] });
    const use = { type: 'tool_use', id: 'toolu_1', name: 'custom_web_search', input: {} };
    vendor.script(messageAnswer([use], { stop: 'tool_use' }));
    const task = await here.ended(await here.prompt(id));
    expect(task.status).toBe('completed');
    expect(vendor.requests.at(-1)!.tools.map((offered: Values) => offered.name)).toEqual(['web_search', 'custom_web_search']);
    expect(JSON.stringify(vendor.requests.at(-1)!.messages)).toContain('mine');
  });

  it('of an agent whose provider or guards have changed since is refused before the run', async () => {
    const { id, agent_id, provider_id } = await hosting();
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { provider_type: 'openai_compatible' }));
    const refused = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'Go.' });
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      ...[409, 'hosted_tool_unsupported', expect.stringMatching(/`web_search_20250305`.*`anthropic_messages`/)],
    ]);
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { provider_type: 'anthropic_messages' }));
    // As a server of an earlier release may have saved it.
    await here.core.store.agents.update(agent_id, { approval_tools: ['web_search'] });
    const guarded = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'Go.' });
    expect([guarded.status, guarded.body.code]).toEqual([409, 'hosted_tool_guarded']);
    await here.core.store.agents.update(agent_id, { approval_tools: [], approve_effects: ['read'] });
    expect((await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'Go.' })).body.code).toBe('hosted_tool_guarded');
  });

  it('stays with a fork, which no other kind of provider gets', async () => {
    const { id } = await hosting();
    const task = await here.ended(await here.prompt(id));
    const fork = (changes: Values) => here.alice.post(`/api/tasks/${task.id}/fork`, { from_step: 1, changes });
    const other = await providerOf({ provider_type: 'openai_compatible' });
    const refused = await fork({ provider_id: other });
    expect([refused.status, refused.body.errors]).toEqual([
      ...[422, [{ path: 'changes.provider_id', message: expect.stringMatching(/`web_search_20250305`/) }]],
    ]);
    const forked = await here.alice.ok(fork({ builtin_tools: ['glob'] }), 201);
    await here.ended(forked.task_id);
    expect(vendor.requests.at(-1)!.tools.map(({ name }: Values) => name)).toEqual(['web_search', 'glob']);
  });
});
