import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoModel } from '../../src/embedded/demo-model.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { leftBehind, listRunInputs, startRenewing } from '../support/machine/left-behind.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { spentOnSteps } from '../support/runs/spent.ts';

let here: TestInstallation;
let embeddings: Awaited<ReturnType<typeof startDemoModel>>;
beforeAll(async () => {
  embeddings = await startDemoModel();
  here = await startTestInstallation({ setting: { embeddings: { base_url: embeddings.url, model: 'demo', api_key: null } } });
});
afterAll(async () => {
  await here.stop();
  await embeddings.stop();
});

let made = 0;
const unique = (name: string) => `${name} ${++made}`;
const created = async (path: string, values: object) => (await here.alice.ok(here.alice.post(path, values), 201)).id as string;
const guardrail = (guardrail_type: string, config: object, more: object = {}) =>
  created('/api/guardrails', { name: unique('guardrail'), guardrail_type, config, ...more });
const agentOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id as string;
const stateOf = (workflow_id: string) => here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
const logsOf = async (workflow_id: string, name: string) =>
  ((await stateOf(workflow_id)).logs as { event: string; detail: string }[]).filter(({ event }) => event === name);
const lastRequest = () => here.model.requests.at(-1)!;

describe('knowledge in a run', () => {
  it('gives the model the matching passages, to be cited by name, and logs it', async () => {
    const source_id = await created('/api/knowledge-sources', { name: unique('source'), tags: ['travel'] });
    const content = 'Trains are booked in second class. Flights need approval by the director.';
    await created('/api/knowledge-items', { source_id, name: 'Travel policy', content });
    await created('/api/knowledge-items', { source_id, name: 'Canteen menu', content: 'Soup on Mondays, rice on Tuesdays.' });
    const id = await here.workflow({ agent: { knowledge_tags: ['travel'] } });
    here.model.script(says('Second class [Travel policy].'));
    const task = await here.ended(await here.prompt(id, 'Which class are trains booked in?'));
    expect(task.status).toBe('completed');
    const [, knowledge, prompt] = lastRequest().messages;
    expect(knowledge).toMatchObject({ role: 'system', content: expect.stringContaining('[Travel policy]\nTrains are booked') });
    expect(knowledge?.content).not.toContain('Soup');
    expect(prompt).toMatchObject({ role: 'user', content: 'Which class are trains booked in?' });
    expect(await logsOf(id, 'knowledge_loaded')).toMatchObject([{ items: [{ name: 'Travel policy' }] }]);
    expect((await stateOf(id)).messages.map(({ kind }: { kind: string }) => kind)).toEqual(['context', 'prompt', 'reply']);
  });

  it('is searched by the model itself with search_knowledge, in the sources of its agent alone', async () => {
    const mine = await created('/api/knowledge-sources', { name: unique('source') });
    const other = await created('/api/knowledge-sources', { name: unique('source') });
    await created('/api/knowledge-items', { source_id: mine, name: 'Mine', content: 'The gate code is blue.' });
    await created('/api/knowledge-items', { source_id: other, name: 'Other', content: 'The gate code is red.' });
    const id = await here.workflow({ agent: { knowledge_source_ids: [mine], builtin_tools: ['search_knowledge'] } });
    here.model.script(asks({ name: 'search_knowledge', args: { query: 'gate code' } }), says('Blue [Mine].'));
    await here.ended(await here.prompt(id, 'Hello.'));
    const result = JSON.parse(lastRequest().messages.at(-1)?.content ?? '');
    expect(result.passages).toMatchObject([{ name: 'Mine', content: 'The gate code is blue.' }]);
  });
});

describe('memory in a run', () => {
  it('is recalled, but not when it has expired or belongs to another workflow, and not at all with bypass_memory', async () => {
    const id = await here.workflow({ agent: { builtin_tools: ['search_memory', 'store_memory'] } });
    const agent_id = await agentOf(id);
    const other = await created('/api/workflows', { agent_id });
    await created('/api/memories', { agent_id, key: 'colour', value: 'green' });
    await created('/api/memories', { agent_id, key: 'gone', value: 'expired', ttl: '2020-01-01T00:00:00Z' });
    await created('/api/memories', { agent_id, scope: 'session', workflow_id: other, key: 'elsewhere', value: 'x' });
    here.model.script(says('ok'));
    await here.ended(await here.prompt(id, 'Hello'));
    const memory = lastRequest().messages[1];
    expect(memory).toMatchObject({ role: 'system', content: expect.stringMatching(/- colour: green$/) });
    expect(memory?.content).not.toMatch(/expired|elsewhere/);
    expect(await logsOf(id, 'memory_loaded')).toMatchObject([{ keys: ['colour'] }]);

    await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { bypass_memory: true, auto_memory: true }));
    here.model.script(says('ok'));
    expect((await here.ended(await here.prompt(id, 'Hello'))).status).toBe('completed');
    expect(lastRequest().messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(lastRequest().tools).toBeUndefined();
    expect(await logsOf(id, 'memory_stored')).toEqual([]);
  });

  it('is used until it expires, and by nobody a minute later, in whichever way it is read', async () => {
    const id = await here.workflow({ agent: { builtin_tools: ['search_memory'] } });
    const agent_id = await agentOf(id);
    const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    const keep = (key: string, minutes: number) =>
      created('/api/memories', { agent_id, scope: 'agent', key, value: `The gate is ${key}`, ttl: inMinutes(minutes) });
    // A write removes what has expired already, so the memories that still live come first.
    await keep('green', 2);
    await keep('great', 2_000);
    await keep('grey', 2);
    const gone_id = await keep('red', 2);
    await here.core.database.pool.query(`UPDATE memories SET ttl = now() - interval '1 minute' WHERE id = $1`, [gone_id]);

    const alive = ['great', 'green', 'grey'];
    const keysOf = (memories: unknown) => (memories as { key: string }[]).map(({ key }) => key).sort();
    expect(keysOf(await here.alice.ok(here.alice.get(`/api/memories?agent_id=${agent_id}`)))).toEqual(alive);
    expect(keysOf(await here.alice.ok(here.alice.get(`/api/memories/stm/${agent_id}`)))).toEqual(alive);
    expect(keysOf(await here.alice.ok(here.alice.post('/api/memories/search', { agent_id, query: 'gate' })))).toEqual(alive);
    expect((await here.alice.get(`/api/memories/${gone_id}`)).status).toBe(404);

    here.model.script(asks({ name: 'search_memory', args: { query: 'gate' } }), says('ok'));
    await here.ended(await here.prompt(id, 'Which gate?'));
    const { messages } = lastRequest();
    const texts = [messages[1]?.content, messages.at(-1)?.content];
    for (const text of texts) {
      for (const key of alive) expect(text).toContain(`The gate is ${key}`);
      expect(text).not.toContain('The gate is red');
    }
    expect((await logsOf(id, 'memory_loaded')).map((log) => (log as unknown as { keys: string[] }).keys.sort())).toEqual([alive]);
  });

  it('is written by the tool and found by the next run', async () => {
    const id = await here.workflow({ agent: { builtin_tools: ['store_memory', 'search_memory'] } });
    here.model.script(
      asks({ name: 'store_memory', args: { key: 'name', value: 'The user is called Ada', scope: 'session' } }),
      says('ok'),
    );
    const task_id = await here.prompt(id, 'I am Ada');
    await here.ended(task_id);
    const found = (await here.alice.get(`/api/memories?agent_id=${await agentOf(id)}`)).body;
    expect(found).toMatchObject([{ key: 'name', scope: 'session', workflow_id: id, task_id }]);
    here.model.script(asks({ name: 'search_memory', args: { query: 'who is Ada' } }), says('Ada'));
    await here.ended(await here.prompt(id, 'Who am I?'));
    expect(lastRequest().messages.at(-1)?.content).toContain('The user is called Ada');
  });

  it('keeps at most three facts after an auto_memory run, with the task as their source, and adds what that cost', async () => {
    const id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] }, workflow: { auto_memory: true } });
    const facts = ['a', 'b', 'c', 'd'].map((key) => ({ key, value: `fact ${key}` }));
    // The model's second step comes after a call, and what the facts cost belongs to that step alone.
    here.model.script(asks({ name: 'manage_todo_list', args: {} }), says('done'), says(JSON.stringify({ facts })));
    const task_id = await here.prompt(id, 'Learn');
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'completed', response: 'done', usage: { total_in: 30 } });
    expect(await spentOnSteps(here, task_id)).toMatchObject({ total_in: 30, total_out: 15 });
    const found = (await here.alice.get(`/api/memories?agent_id=${await agentOf(id)}`)).body;
    expect(found.map(({ key }: { key: string }) => key).sort()).toEqual(['a', 'b', 'c']);
    expect(found[0].task_id).toBe(task_id);
    expect(await logsOf(id, 'memory_stored')).toMatchObject([{ keys: ['a', 'b', 'c'] }]);
  });

  it('keeps the facts of a run that continues in a new history, each of which begins with the same settings', async () => {
    const id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] }, workflow: { auto_memory: true } });
    const facts = [{ key: 'kept', value: 'from the last history' }];
    const todo = asks({ name: 'manage_todo_list', args: {} });
    here.model.script(todo, todo, todo, says('done'), says(JSON.stringify({ facts })));
    const task_id = await leftBehind(here, id);
    await startRenewing(here, task_id, { max_turns: 20, renew_after: 1, auto_memory: true });
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'done', turns: 3 });
    const inputs = await listRunInputs(here, task_id);
    expect(inputs.map(({ state }) => state?.turns ?? 0)).toEqual([3, 2, 1, 0]);
    for (const { state: _, decided: __, ...rest } of inputs)
      expect(rest).toEqual({ task_id, max_turns: 20, renew_after: 1, auto_memory: true, queued: false });
    const found = (await here.alice.get(`/api/memories?agent_id=${await agentOf(id)}`)).body;
    expect(found).toMatchObject([{ key: 'kept', value: 'from the last history', task_id }]);
  });

  it('completes a run whose facts cannot be had', async () => {
    const id = await here.workflow({ workflow: { auto_memory: true } });
    here.model.script(says('done'), says('no facts here'));
    expect(await here.ended(await here.prompt(id, 'Learn'))).toMatchObject({ status: 'completed', response: 'done' });
    // An answer of nothing was paid for as well.
    here.model.script(says('done'), says(''));
    const task_id = await here.prompt(id, 'Learn');
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'done', usage: { total_in: 20 } });
    expect(await spentOnSteps(here, task_id)).toMatchObject({ total_in: 20, total_out: 10 });
  });
});

describe('guardrails in a run', () => {
  it('refuses a prompt before anything is changed, naming the guardrail and the reason', async () => {
    const guard = await guardrail('prompt', { forbidden_patterns: ['(?i)password'] }, { tags: ['strict'] });
    const id = await here.workflow({ workflow: { guardrail_tags: ['strict'] } });
    const before = await stateOf(id);
    const refused = await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'My PASSWORD is x' });
    expect(refused).toMatchObject({ status: 422, body: { code: 'guardrail_blocked', errors: [{ path: 'prompt' }] } });
    expect(refused.body.detail).toMatch(/guardrail \d+.*forbidden pattern/);
    expect(await stateOf(id)).toEqual(before);
    await here.alice.ok(here.alice.put(`/api/guardrails/${guard}`, { enabled: false }));
    here.model.script(says('ok'));
    expect((await here.ended(await here.prompt(id, 'My PASSWORD is x'))).status).toBe('completed');
  });

  it('lets a request in that fits its schema', async () => {
    const json_schema = { type: 'object', required: ['city'], properties: { city: { type: 'string', pattern: '^[A-Z]' } } };
    const id = await here.workflow({ workflow: { guardrail_ids: [await guardrail('request', { json_schema })] } });
    const prompt = (body: object) => here.alice.post(`/api/workflows/${id}/prompt`, body);
    expect(await prompt({ request: { city: 'bern' } })).toMatchObject({ status: 422 });
    expect(await prompt({ prompt: 'Bern' })).toMatchObject({ status: 422 });
    here.model.script(says('ok'));
    const { task_id } = await here.alice.ok(prompt({ request: { city: 'Bern' } }), 201);
    expect((await here.ended(task_id)).status).toBe('completed');
  });

  it('redacts an answer everywhere it is sent or stored', async () => {
    const id = await here.workflow({
      workflow: { guardrail_ids: [await guardrail('output', { pii_detection: true, action: 'redact' })] },
    });
    here.model.script(says('Write to CANARY@example.com now'));
    const task_id = await here.prompt(id);
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'completed', response: 'Write to [REDACTED] now' });
    const events = await here.alice.events(`/api/workflows/${id}/stream?task_id=${task_id}&after=0`);
    expect(JSON.stringify([events, await stateOf(id)])).not.toContain('CANARY');
    const { rows } = await here.core.database.pool.query('SELECT 1 FROM task_messages WHERE content LIKE $1', ['%CANARY%']);
    expect(rows).toEqual([]);
    expect(await logsOf(id, 'output_guardrail_violation')).toMatchObject([{ action: 'redact' }]);
  });

  it('fails a run whose answer is blocked, and keeps none of it', async () => {
    const id = await here.workflow({
      workflow: { guardrail_ids: [await guardrail('output', { forbidden_patterns: ['CANARY'], action: 'block' })] },
    });
    here.model.script(says('Here is the CANARY you asked for'));
    const task_id = await here.prompt(id);
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'failed', error_code: 'guardrail_blocked', response: null, usage: { total_in: 10 } });
    const events = await here.alice.events(`/api/workflows/${id}/stream?task_id=${task_id}&after=0`);
    expect(JSON.stringify(events.filter(({ type }) => type !== 'log'))).not.toContain('Here is the');
    expect(await logsOf(id, 'guardrail_blocked')).toHaveLength(1);
  });

  it('only warns if configured to, and streams as usual', async () => {
    const id = await here.workflow({ workflow: { guardrail_ids: [await guardrail('output', { must_be_valid_json: true })] } });
    here.model.script(says('not json'));
    const task_id = await here.prompt(id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'not json' });
    expect(await logsOf(id, 'output_guardrail_violation')).toMatchObject([{ action: 'warn', reasons: ['it is not valid JSON'] }]);
  });
});
