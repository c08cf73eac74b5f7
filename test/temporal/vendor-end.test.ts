import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createActivityPorts } from '../../src/main/wiring/runs/index.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { agentAsks, agentSays, startVendorServer, type VendorServer, works } from '../support/peers/vendor-server.ts';

let vendor: VendorServer;
let here: TestInstallation;
let provider_id: string;
beforeAll(async () => {
  vendor = await startVendorServer();
  here = await startTestInstallation({ env: { ANTHROPIC_API_URL: vendor.url } });
  await here.alice.ok(here.alice.post('/api/tokens', { name: 'vendor-key', value: 'k' }));
  const values = { name: 'vendor', provider_type: 'anthropic', api_key_token_name: 'vendor-key', default_model: 'claude-test' };
  provider_id = (await here.alice.ok(here.alice.post('/api/providers', values))).id;
});
afterAll(async () => {
  await here.stop();
  await vendor.stop();
});
beforeEach(() => {
  vendor.sessions.length = 0;
});

const DOZE = 'import time\nEFFECT = "read"\ndef NAME() -> str:\n    time.sleep(20)\n    return "late"\n';
let made = 0;
/** A workflow of the vendor's with one Python tool; returns the tool's name as well. */
async function workflowWith(source: string, agent: (name: string) => object = () => ({})) {
  const name = `tool_${++made}`;
  const created = await here.alice.ok(here.alice.post('/api/custom-tools', { name, source_code: source.replace('NAME', name) }));
  const workflow_id = await here.workflow({ agent: { provider_id, custom_tool_ids: [created.id], ...agent(name) } });
  return { workflow_id, name };
}
const until = (workflow_id: string, task_id: string, event: string) =>
  here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, { enough: ({ data }) => data.event === event });
const cursorOf = async (task_id: string) =>
  (await here.core.database.pool.query('SELECT cursor FROM tasks WHERE id = $1', [task_id])).rows[0].cursor;
const archived = () => vendor.sessions.map(({ archived_at }) => archived_at !== null);
const halt = (task_id: string) => here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));

/** The session is ended after the task's end is on record, so it is waited for. */
async function expectEnded(task_id: string): Promise<void> {
  await expect.poll(archived).toEqual([true]);
  await expect.poll(() => cursorOf(task_id)).toBeNull();
}

describe('the session of a run is archived when the run', () => {
  it('completes', async () => {
    const { workflow_id } = await workflowWith(DOZE);
    vendor.script([...agentSays('Done.')]);
    const task_id = await here.prompt(workflow_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    await expectEnded(task_id);
  });

  it('is halted while a tool runs here', async () => {
    const { workflow_id, name } = await workflowWith(DOZE);
    vendor.script(agentAsks({ name }));
    const task_id = await here.prompt(workflow_id);
    await until(workflow_id, task_id, 'tool_call');
    await halt(task_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    await expectEnded(task_id);
  });

  it('is halted while it waits for a person', async () => {
    const { workflow_id, name } = await workflowWith(DOZE, (tool) => ({ approval_tools: [tool] }));
    vendor.script(agentAsks({ name }));
    const task_id = await here.prompt(workflow_id);
    await until(workflow_id, task_id, 'approval_requested');
    await halt(task_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    await expectEnded(task_id);
  });

  it('is halted while the agent works, which is interrupted first', async () => {
    const { workflow_id } = await workflowWith(DOZE);
    vendor.script([...agentSays('Let me think').slice(0, -1), works]);
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ type }) => type === 'message_delta',
    });
    await halt(task_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    await expectEnded(task_id);
    expect(vendor.sessions[0]?.events.some(({ type }) => type === 'user.interrupt')).toBe(true);
  });

  it('fails between two exchanges', async () => {
    const source = 'EFFECT = "read"\ndef NAME() -> int:\n    return 1\n';
    const { workflow_id, name } = await workflowWith(source, (tool) => ({ approval_tools: [tool] }));
    vendor.script(agentAsks({ name }));
    const task_id = await here.prompt(workflow_id);
    await until(workflow_id, task_id, 'approval_requested');
    vendor.refuse({ status: 401, path: /events/ });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    expect(await here.ended(task_id)).toMatchObject({ status: 'failed', error_code: 'model_unauthorized' });
    await expectEnded(task_id);
  });

  it('fails in its first exchange, before any reply named the session', async () => {
    const { workflow_id } = await workflowWith(DOZE);
    vendor.refuse({ status: 400, path: /events\/stream/ });
    const task_id = await here.prompt(workflow_id);
    expect(await here.ended(task_id)).toMatchObject({ status: 'failed', error_code: 'model_error' });
    await expectEnded(task_id);
  });
});

it('what the vendor did not take then is archived by the next comparison', async () => {
  const { workflow_id, name } = await workflowWith(DOZE);
  vendor.script(agentAsks({ name }));
  const task_id = await here.prompt(workflow_id);
  await until(workflow_id, task_id, 'tool_call');
  vendor.refuse({ status: 500, path: /sessions\/\w+$/ });
  await halt(task_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
  const { ports, unwatch } = await createActivityPorts(here.core, here.driver);
  await expect
    .poll(
      async () => {
        await ports.reconcile();
        return archived();
      },
      { interval: 500 },
    )
    .toEqual([true]);
  await unwatch();
  await expectEnded(task_id);
});

it('the session of a run that was lost is ended by the comparison that finds it', async () => {
  const { workflow_id } = await workflowWith(DOZE);
  vendor.script([...agentSays('Let me think').slice(0, -1), works]);
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  await here.driver.engine.terminate(task_id, 'by an operator');
  await here.core.database.pool.query("UPDATE tasks SET created_at = now() - interval '1 minute' WHERE id = $1", [task_id]);
  const { ports, unwatch } = await createActivityPorts(here.core, here.driver);
  await ports.reconcile();
  await unwatch();
  expect(await here.ended(task_id)).toMatchObject({ status: 'failed', error_code: 'run_lost' });
  await expectEnded(task_id);
});

it('facts to remember are requested without another session', async () => {
  const { workflow_id } = await workflowWith(DOZE);
  await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { auto_memory: true }));
  vendor.script([...agentSays('Noted.')]);
  const task_id = await here.prompt(workflow_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Noted.' });
  expect(vendor.chats).toHaveLength(1);
  await expectEnded(task_id);
});

it('calls that ran at the vendor are reported, and do not count as turns', async () => {
  const { workflow_id } = await workflowWith(DOZE);
  vendor.script([
    { type: 'agent.tool_use', id: 'use-1', name: 'bash', input: { command: 'ls' } },
    { type: 'agent.tool_result', tool_use_id: 'use-1', content: [{ type: 'text', text: 'a.txt' }] },
    { type: 'agent.mcp_tool_use', id: 'use-2', name: 'find', mcp_server_name: 'docs', input: {} },
    { type: 'agent.mcp_tool_result', mcp_tool_use_id: 'use-2', is_error: true, content: [{ type: 'text', text: 'no' }] },
    ...agentSays('There is a.txt.'),
  ]);
  const task_id = await here.prompt(workflow_id);
  expect(await here.ended(task_id)).toMatchObject({ status: 'completed', turns: 0 });
  const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}&after=0`);
  const reported = events.filter(({ data }) => data.ran_at === 'provider').map(({ data }) => data);
  expect(reported).toEqual([
    expect.objectContaining({ event: 'tool_call', name: 'bash', call_id: 'use-1', arguments: '{"command":"ls"}' }),
    expect.objectContaining({ event: 'tool_result', name: 'bash', call_id: 'use-1', failed: false, result: 'a.txt' }),
    expect.objectContaining({ event: 'tool_call', name: 'docs: find' }),
    expect.objectContaining({ event: 'tool_result', name: 'docs: find', failed: true, result: 'no' }),
  ]);
});
