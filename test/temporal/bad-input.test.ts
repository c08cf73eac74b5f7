import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';
import { SERVERS } from '../tools/support.ts';

/** What models, keys, tools and servers do wrong, seen from a whole run. */
let here: TestInstallation;
let home: string;
/** The servers of this file alone, so that their processes are known from others'. */
let servers: string;
beforeAll(async () => {
  servers = await mkdtemp(join(tmpdir(), 'perdura-servers-'));
  await chmod(servers, 0o755);
  await copyFile(`${SERVERS}/odd.mjs`, join(servers, 'odd.mjs'));
  home = await mkdtemp(join(tmpdir(), 'perdura-bad-'));
  await chmod(home, 0o711);
  here = await startTestInstallation({ env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
});
afterAll(async () => {
  await here.stop();
  for (const folder of [home, servers]) await rm(folder, { recursive: true, force: true });
});

let made = 0;
const odd = async (manner: string, more: object = {}) => {
  const connection_config = { command: process.execPath, args: [`${servers}/odd.mjs`, manner] };
  const values = {
    name: `odd${++made}`,
    transport_type: 'stdio',
    connection_config,
    paths: [process.execPath, servers],
    ...more,
  };
  return (await here.alice.ok(here.alice.post('/api/mcps', values))).id as string;
};
/** A workflow's provider, and the name of its one Python tool. */
async function partsOf(workflow_id: string) {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
  const { provider_id, custom_tool_ids } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
  const [id] = custom_tool_ids;
  return { agent_id, provider_id, name: id ? (await here.alice.ok(here.alice.get(`/api/custom-tools/${id}`))).name : '' };
}
const logsOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as { event: string; detail: string }[];
const results = () =>
  here.model.requests
    .at(-1)
    ?.messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content ?? '') ?? [];

describe('a model', () => {
  it('whose key is revoked during a run fails the run with advice and without revealing the key', async () => {
    const canary = 'canary-revoked-key-77';
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'revoked', value: canary }));
    const workflow_id = await here.workflow({ tools: ['EFFECT = "read"\ndef one() -> int:\n    return 1\n'] });
    const { provider_id, name } = await partsOf(workflow_id);
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'revoked' }));
    const before = here.model.requests.length;
    here.model.script(asks({ name }), fails(401, { message: `Incorrect API key provided: ${canary}` }));
    const task_id = await here.prompt(workflow_id);
    const task = await here.ended(task_id);
    expect(task).toMatchObject({
      ...{ status: 'failed', error_code: 'model_unauthorized', turns: 1 },
      error: expect.stringContaining("check the provider's stored key"),
      usage: expect.objectContaining({ total_in: 10 }),
    });
    // It is not asked again: the key does not come back by itself.
    expect(here.model.requests.length - before).toBe(2);
    const events = await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}&after=0`);
    expect(events.find(({ data }) => data.event === 'error')?.data).toMatchObject({ error_code: 'model_unauthorized' });
    expect(events.at(-1)?.data).toMatchObject({ status: 'failed' });
    expect(JSON.stringify([task, events])).not.toContain(canary);
  });

  it('whose key is taken away in the middle of a run fails it, and names the provider', async () => {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'private', value: 'x' }));
    const workflow_id = await here.workflow({ tools: ['EFFECT = "read"\ndef nap() -> int:\n    return 1\n'] });
    const { agent_id, provider_id, name } = await partsOf(workflow_id);
    await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { approval_tools: [name] }));
    await here.alice.ok(here.alice.put(`/api/providers/${provider_id}`, { api_key_token_name: 'private' }));
    here.model.script(asks({ name }));
    const task_id = await here.prompt(workflow_id);
    await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ data }) => data.event === 'approval_requested',
    });
    await here.core.database.pool.query("DELETE FROM stored_tokens WHERE name = 'private'");
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    expect(await here.ended(task_id)).toMatchObject({
      ...{ status: 'failed', error_code: 'token_missing' },
      error: expect.stringContaining('There is no stored token named private'),
    });
  });

  it('that gives two calls one id has both made and answered apart', async () => {
    const workflow_id = await here.workflow({ tools: ['EFFECT = "read"\ndef same(a: int) -> int:\n    return a\n'] });
    const { name } = await partsOf(workflow_id);
    here.model.script(asks({ name, args: { a: 1 }, id: 'twin' }, { name, args: { a: 2 }, id: 'twin' }), says('Both.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', turns: 2 });
    expect(results()).toEqual(['{"result": 1}', '{"result": 2}']);
    const ids = here.model.requests.at(-1)?.messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
    expect(new Set(ids).size).toBe(2);
  });

  it('that never stops calling tools is stopped by the turn limit, even if it keeps calling them when tools are off', async () => {
    const workflow_id = await here.workflow({
      agent: { builtin_tools: ['manage_todo_list'] },
      workflow: { max_turns: 2 },
    });
    const before = here.model.requests.length;
    here.model.always(asks({ name: 'manage_todo_list', args: { todoList: [] } }));
    const task = await here.ended(await here.prompt(workflow_id));
    here.model.always(fails(500, { message: 'the script has run out' }));
    expect(task).toMatchObject({ status: 'failed', error_code: 'empty_answer', turns: 2 });
    expect(here.model.requests.length - before).toBeLessThanOrEqual(6);
  });

  it('whose prices are nonsense costs nothing; a table of nonsense is refused', async () => {
    const workflow_id = await here.workflow();
    const { provider_id } = await partsOf(workflow_id);
    const refused = { '*': { input: -1, output: 'much' } };
    expect((await here.alice.put(`/api/providers/${provider_id}`, { price_table: refused })).status).toBe(422);
    const nonsense = JSON.stringify({ '*': { input: 'much', output: null } });
    await here.core.database.pool.query('UPDATE providers SET price_table = $2 WHERE id = $1', [provider_id, nonsense]);
    here.model.script(says('Priceless.'));
    const task = await here.ended(await here.prompt(workflow_id));
    expect(task).toMatchObject({ status: 'completed', usage: expect.objectContaining({ total_in: 10, cost: 0 }) });
  });
});

describe('a tool', () => {
  it('that returns 10 MB gives the model an error it can read, and the run continues', async () => {
    const workflow_id = await here.workflow({ tools: ['EFFECT = "read"\ndef huge() -> str:\n    return "x" * 10_485_760\n'] });
    const { name } = await partsOf(workflow_id);
    here.model.script(asks({ name }), says('Too much.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'Too much.' });
    expect(results()[0]?.length).toBeLessThan(1_200_000);
    expect(results()[0]).toContain('the result is larger than');
  });
});

describe('an MCP server', () => {
  it.each([
    ['hangs in initialise', 'hangs', 'mcp_error', { connect_seconds: 1 }],
    ['floods stderr', 'stderr', 'mcp_connected', {}],
    ['prints noise', 'noise', 'mcp_connected', {}],
    ['sends invalid schemas', 'schemas', 'mcp_error', {}],
  ])(
    'that %s fails no run, and is logged',
    async (_what, manner, event, more) => {
      const workflow_id = await here.workflow({ agent: { mcp_server_ids: [await odd(manner, more)] } });
      here.model.script(says('Continued.'));
      expect(await here.ended(await here.prompt(workflow_id), 40_000)).toMatchObject({
        status: 'completed',
        response: 'Continued.',
      });
      expect((await logsOf(workflow_id)).map((log) => log.event)).toContain(event);
    },
    60_000,
  );

  it('that sends 10 MB is cut, and the call in which one dies waits for a person', async () => {
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [await odd('plain')] } });
    here.model.script(asks({ name: 'big' }), asks({ name: 'die' }), asks({ name: 'key' }), says('Survived.'));
    const task_id = await here.prompt(workflow_id);
    const asked = () => logsOf(workflow_id).then((logs) => logs.find(({ event }) => event === 'reconciliation_requested'));
    expect(await until('a question', asked, 40_000)).toMatchObject({
      restored: false,
      cause: expect.stringMatching(/^The MCP server .* was lost while the tool ran/),
    });
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/2-1`, { decision: 'fail' }));
    expect(await here.ended(task_id, 40_000)).toMatchObject({ status: 'completed', response: 'Survived.', turns: 3 });
    const [big = '', died, key] = results();
    expect(big).toMatch(/\[cut here: \d+ more characters\]$/);
    expect(died).toBe('The tool call failed; its outcome is unknown.');
    expect(JSON.parse(key ?? '')).toMatchObject({ meta: expect.stringContaining(':3-1') });
  });
});

it('nothing is left of all this when the worker has stopped', async () => {
  const running = () =>
    new Promise<number>((resolve) =>
      execFile('ps', ['-eo', 'args'], (_, out) => resolve(out.split('\n').filter((line) => line.includes(servers)).length)),
    );
  await here.stop();
  await expect.poll(running).toBe(0);
});
