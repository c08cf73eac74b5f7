import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { livingProcesses } from '../chaos/processes.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, breaksOff, fails, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ALLOW_STDIO_MCP: 'true' } });
});
afterAll(() => here.stop());

const taskOf = (task_id: string) => here.alice.ok(here.alice.get(`/api/tasks/${task_id}`));
const workflowOf = (id: string) => here.alice.ok(here.alice.get(`/api/workflows/${id}`));
const logged = async (workflow_id: string, name: string) =>
  ((await workflowOf(workflow_id)).logs as { event: string }[]).filter(({ event }) => event === name).length;

async function seen(workflow_id: string, event: string, times = 1) {
  await until(`${times} ${event}`, async () => (await logged(workflow_id, event)) >= times);
}

async function waits(task_id: string) {
  await until('the run waits', async () => (await taskOf(task_id)).status === 'waiting');
}

/** Halts the run, which does not wait for what it waited for. */
async function haltsSoon(task_id: string) {
  expect((await here.alice.post(`/api/tasks/${task_id}/stop`)).status).toBe(202);
  const task = await here.ended(task_id);
  expect(task).toMatchObject({ status: 'halted', error: null });
  return task;
}

describe('a halt ends at once a run that', () => {
  it('waits to try again after a failure of the model, and keeps what was paid and said', async () => {
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    const todo = { name: 'manage_todo_list', args: { todoList: [] } };
    here.model.script(asks(todo), fails(500), breaksOff('Half of'));
    const task_id = await here.prompt(workflow_id);
    // The halt comes at the beginning of the second pause.
    await seen(workflow_id, 'retry', 2);
    const asked = here.model.requests.length;
    expect(await haltsSoon(task_id)).toMatchObject({ response: 'Half of', usage: { total_out: 7, estimated: true } });
    const { messages } = await workflowOf(workflow_id);
    expect(messages.at(-1)).toMatchObject({ role: 'assistant', kind: 'partial', content: 'Half of' });
    expect(here.model.requests.length).toBe(asked);
  });

  it('waits for as long as its provider has asked for', async () => {
    const workflow_id = await here.workflow();
    here.model.script(fails(429, { headers: { 'retry-after': '60' } }));
    const task_id = await here.prompt(workflow_id);
    await seen(workflow_id, 'rate_limited');
    await haltsSoon(task_id);
    expect(await workflowOf(workflow_id)).toMatchObject({ status: 'halted' });
  });

  it('waits for the rate of its provider', async () => {
    const values = { name: 'rare', provider_type: 'openai_compatible', base_url: here.model.url, requests_per_minute: 1 };
    const provider_id = (await here.alice.ok(here.alice.post('/api/providers', { ...values, default_model: 'm' }))).id;
    here.model.script(says('once'));
    await here.ended(await here.prompt(await here.workflow({ agent: { provider_id } })));
    const workflow_id = await here.workflow({ agent: { provider_id } });
    const task_id = await here.prompt(workflow_id);
    await seen(workflow_id, 'rate_limited');
    await haltsSoon(task_id);
  });

  it('waits for its lane, while the run that has the lane continues', async () => {
    const workflow_id = await here.workflow();
    here.model.script(hangs('busy'));
    const first = await here.prompt(workflow_id);
    const second = await here.prompt(workflow_id);
    await haltsSoon(second);
    expect((await taskOf(first)).status).toBe('running');
    await haltsSoon(first);
  });

  it('waits for an approval or for a higher budget', async () => {
    const builtin_tools = ['manage_todo_list'];
    const approving = await here.workflow({ agent: { builtin_tools, approval_tools: builtin_tools } });
    here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }));
    const first = await here.prompt(approving);
    await waits(first);
    await haltsSoon(first);
    const second = await here.prompt(await here.workflow({ workflow: { budget: { max_tokens: 5, on_exhausted: 'wait' } } }));
    await waits(second);
    await haltsSoon(second);
  });

  it('calls a tool of an MCP server', async () => {
    const connection_config = { command: process.execPath, args: [`${SERVERS}/odd.mjs`, 'halted'], env: {} };
    const paths = [MODULES, process.execPath, SERVERS];
    const server = { name: 'odd', transport_type: 'stdio', connection_config, paths };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id] } });
    here.model.script(asks({ name: 'hang' }));
    const task_id = await here.prompt(workflow_id);
    await seen(workflow_id, 'tool_call');
    await haltsSoon(task_id);
  });

  it('calls a tool that starts processes, and leaves none of them', async () => {
    const workflow_id = await here.workflow({
      tools: ['import subprocess\ndef nap() -> str:\n    subprocess.run(["sleep", "3141.59"])\n    return ""\n'],
    });
    const { agent_id } = await workflowOf(workflow_id);
    const { custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/custom-tools/${custom_tool_ids[0]}`));
    here.model.script(asks({ name }));
    const task_id = await here.prompt(workflow_id);
    await until('the sleeper', async () => (await sleepers()) > 0);
    await haltsSoon(task_id);
    expect(await sleepers()).toBe(0);
  });
});

const sleepers = async () => (await livingProcesses()).filter(({ argv }) => argv.includes('3141.59')).length;

describe('a model call that a halt breaks off', () => {
  const halfway = async (answer: Answer) => {
    const workflow_id = await here.workflow();
    here.model.script(answer);
    const task_id = await here.prompt(workflow_id);
    await until('text arrives', async () =>
      JSON.stringify(
        (await here.core.database.pool.query(`SELECT data FROM events WHERE task_id = $1 AND type = 'message_delta'`, [task_id]))
          .rows,
      ).includes('Half'),
    );
    const task = await haltsSoon(task_id);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    return { task, workflow: await workflowOf(workflow_id), used: events.findLast(({ type }) => type === 'usage')?.data };
  };

  it('keeps its usage as an estimate that is marked, if the endpoint reported none', async () => {
    const { task, workflow, used } = await halfway(hangs('Half of it'));
    expect(task.usage).toMatchObject({ estimated: true, total_in: expect.any(Number), total_out: expect.any(Number) });
    expect(Math.min(task.usage.total_in, task.usage.total_out)).toBeGreaterThan(0);
    expect(workflow.usage).toMatchObject({ estimated: true, total_out: task.usage.total_out });
    expect(used).toMatchObject({ estimated: true, total_in: task.usage.total_in });
    const listed = async (path: string, id: string) =>
      ((await here.alice.get(path)).body as unknown as { id: string; usage: object }[]).find((one) => one.id === id)?.usage;
    expect(await listed('/api/tasks', task.id)).toMatchObject({ estimated: true });
    expect(await listed('/api/workflows', workflow.id)).toMatchObject({ estimated: true });
    const report = await here.alice.ok(here.alice.get('/api/usage'));
    expect(report.rows[0].estimated).toBeGreaterThan(0);
  });

  it('counts the thinking and the calls that came with its text', async () => {
    const call = { index: 0, id: 'a', function: { name: 'look', arguments: `{"city":"${'four'.repeat(50)}` } };
    const { task } = await halfway((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const delta of [{ reasoning_content: 'four'.repeat(100) }, { tool_calls: [call] }, { content: 'Half of it' }])
        response.write(`data: ${JSON.stringify({ model: 'scripted', choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    });
    expect(task.usage.estimated).toBe(true);
    expect(task.usage.total_out).toBeGreaterThan(150);
  });

  it('keeps what the endpoint has reported as it is', async () => {
    const usage = { prompt_tokens: 40, completion_tokens: 3, total_tokens: 43 };
    const { task, used } = await halfway((response, request) => {
      void hangs('Half of it')(response, request);
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [], usage })}\n\n`,
      );
    });
    expect(task.usage).toMatchObject({ estimated: false, total_in: 40, total_out: 3 });
    expect(used).not.toHaveProperty('estimated');
  });
});
