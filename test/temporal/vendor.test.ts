import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says, startModelServer } from '../support/peers/model-server.ts';
import { agentAsks, agentSays, spends, startVendorServer, type VendorServer } from '../support/peers/vendor-server.ts';
import { answersOf, openaiAt, providerOf } from '../support/runs/fallbacks.ts';
import { reaches } from '../support/runs/run-facts.ts';
import { until } from '../support/until.ts';

let vendor: VendorServer;
let here: TestInstallation;
beforeAll(async () => {
  vendor = await startVendorServer();
  here = await startTestInstallation({ env: { ANTHROPIC_API_URL: vendor.url } });
});
afterAll(async () => {
  await here.stop();
  await vendor.stop();
});

it('a run in a vendor session calls a Python tool here and keeps answer, usage and cost', async () => {
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'vendor-key', value: 'k' }));
  const price_table = { '*': { input: 1_000_000, output: 0, cache_read: 0, cache_write: 0 } };
  const values = {
    name: 'vendor',
    provider_type: 'anthropic',
    api_key_token_name: 'vendor-key',
    default_model: 'claude-test',
    price_table,
  };
  const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', values));
  const tools = ['def add(a: int, b: int) -> int:\n    return a + b\n'];
  const agent = { provider_id, builtin_tools: ['bash', 'manage_todo_list'] };
  const workflow_id = await here.workflow({ agent, tools, workflow: { temperature: 0.2 } });
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
  vendor.script([...agentAsks({ name, input: { a: 1, b: 2 } }), spends(4, 1)], [...agentSays('It is three.'), spends(6, 2)]);

  const task = await here.ended(await here.prompt(workflow_id, 'Add.'));
  expect(task).toMatchObject({ status: 'completed', response: 'It is three.', turns: 1, steps: 2, model: 'claude-test' });
  expect(task.usage).toMatchObject({ total_in: 20, total_out: 3, cache_read: 6, cache_write: 4, cost: 10 });
  const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  expect(logs.filter(({ event }: { event: string }) => event === 'setting_left_out')).toMatchObject([{ setting: 'temperature' }]);
  const [session] = vendor.sessions;
  expect(session?.archived_at).not.toBeNull();
  expect(session?.events.filter(({ type }) => type === 'user.custom_tool_result').map(({ content }) => content[0].text)).toEqual([
    '{"result": 3}',
  ]);
  const given = (vendor.agents[0]!.tools as { type: string; name?: string }[]).map(({ type, name: shown }) => shown ?? type);
  expect(given).toEqual(['manage_todo_list', name, 'agent_toolset_20260401']);
});

it('a run that loses its worker during a session continues in that session and answers no call twice', async () => {
  const env = { ANTHROPIC_API_URL: vendor.url };
  const there = await startTestInstallation({ worker: false, env });
  const before = vendor.sessions.length;
  let worker = await startWorkerProcess(there.setting, env);
  try {
    await there.alice.ok(there.alice.post('/api/tokens', { name: 'vendor-key', value: 'k' }));
    const values = { name: 'vendor', provider_type: 'anthropic', api_key_token_name: 'vendor-key', default_model: 'claude-test' };
    const { id: provider_id } = await there.alice.ok(there.alice.post('/api/providers', values));
    const source_code = 'import time\nEFFECT = "read"\ndef look() -> str:\n    time.sleep(3)\n    return "seen"\n';
    const { id } = await there.alice.ok(there.alice.post('/api/custom-tools', { name: 'look', source_code }));
    const workflow_id = await there.workflow({ agent: { provider_id, custom_tool_ids: [id] } });
    vendor.script([...agentAsks({ name: 'look', input: {} })], [...agentSays('I saw it.')]);
    const task_id = await there.prompt(workflow_id, 'Look.');
    const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
    await there.alice.events(stream, { enough: ({ data }) => data.event === 'tool_call' });
    await worker.end('SIGKILL');
    worker = await startWorkerProcess(there.setting, env);
    expect(await there.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'I saw it.', turns: 1 });
    const sessions = vendor.sessions.slice(before);
    expect(sessions).toHaveLength(1);
    const answers = sessions[0]!.events.filter(({ type }) => type === 'user.custom_tool_result');
    expect(answers.map(({ content }) => content[0].text)).toEqual(['{"result": "seen"}']);
  } finally {
    await worker.end('SIGKILL');
    await there.stop();
  }
}, 120_000);

it('a run leaves its session for a fallback and continues with the files and results that it has', async () => {
  await here.alice.post('/api/tokens', { name: 'vendor-key', value: 'k' });
  const other = await startModelServer();
  try {
    const fallback_id = await providerOf(here.alice, openaiAt(other.url));
    const session = { provider_type: 'anthropic', api_key_token_name: 'vendor-key', default_model: 'claude-left' };
    const provider_id = await providerOf(here.alice, {
      ...session,
      fallback_minutes: 0,
      fallbacks: [{ on: ['quota'], provider_id: fallback_id }],
    });
    const workflow_id = await here.workflow({ agent: { provider_id, model: null, builtin_tools: ['read', 'write'] } });
    const error = { type: 'billing_error', message: 'No credit left', retry_status: { type: 'terminal' } };
    vendor.script(
      [...agentAsks({ name: 'write', input: { file_path: 'a.txt', content: 'Nineteen lines.' } })],
      [{ type: 'session.error', error }],
    );
    other.script(asks({ name: 'read', args: { file_path: 'a.txt' } }), says('Read.'));
    const task_id = await here.prompt(workflow_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Read.' });
    // Both models used tools of this side, and the session, which lacks what came later, was not asked again.
    expect(vendor.agents.at(-1)!.tools).toMatchObject([{ type: 'custom' }, { type: 'custom' }]);
    expect(other.requests[1]!.messages.at(-1)!.content).toContain('Nineteen lines.');
    expect(other.requests[0]!.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    const places = (await answersOf(here, task_id)).map(({ fallback }: { fallback: number }) => fallback);
    expect(places).toEqual([0, 1, 1]);
    // The run has ended before its session is closed.
    await until('the end of the session', async () => vendor.sessions.at(-1)!.archived_at !== null);
  } finally {
    await other.stop();
  }
});

describe.each([
  { guarded: 'by name', agent: { approval_tools: ['bash'] } },
  { guarded: 'by effect', agent: { approve_effects: ['write'] } },
])('a built-in tool that is guarded $guarded', ({ guarded, agent: guards }) => {
  it('is not given to the vendor, who would not ask: its calls wait here', async () => {
    await here.alice.post('/api/tokens', { name: 'vendor-key', value: 'k' });
    const values = { name: `vendor ${guarded}`, provider_type: 'anthropic', api_key_token_name: 'vendor-key' };
    const provider = await here.alice.ok(here.alice.post('/api/providers', { ...values, default_model: `claude ${guarded}` }));
    const url = 'https://mcp.example.com/mcp';
    const server = { name: `remote ${guarded}`, transport_type: 'http', connection_config: { url } };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
    const builtin_tools = ['bash', 'glob', 'manage_todo_list'];
    const workflow_id = await here.workflow({
      agent: { provider_id: provider.id, builtin_tools, mcp_server_ids: [id], ...guards },
    });
    vendor.script([...agentAsks({ name: 'bash', input: { command: 'true' } })], [...agentSays('Denied then.')]);
    const task_id = await here.prompt(workflow_id);
    await reaches(here, task_id, { status: 'waiting' });
    const given = vendor.agents.at(-1) as { tools: { type: string; name?: string }[]; mcp_servers: unknown[] };
    expect(given.mcp_servers).toEqual([]);
    expect(given.tools.map(({ type, name }) => [type, name])).toEqual(builtin_tools.map((name) => ['custom', name]));
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'deny' }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Denied then.' });
  });
});
