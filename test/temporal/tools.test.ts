import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reconcileMcpState } from '../../src/temporal/repair/reconcile-schedules.ts';
import { createMcpState } from '../../src/tools/mcp/state.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

let here: TestInstallation;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-tools-'));
  await chmod(home, 0o711);
  here = await startTestInstallation({ env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
});
afterAll(async () => {
  await here.stop();
  for (const folder of [home, `${home}-shared`]) await rm(folder, { recursive: true, force: true });
});

const mcpServer = async (name: string, args: string[], more: object = {}) => {
  const connection_config = { command: process.execPath, args, env: {} };
  const paths = [MODULES, process.execPath, SERVERS];
  const values = { name, transport_type: 'stdio', connection_config, paths, ...more };
  return (await here.alice.ok(here.alice.post('/api/mcps', values))).id as string;
};
const odd = (name: string, manner: string, more: object = {}) => mcpServer(name, [`${SERVERS}/odd.mjs`, manner], more);
const logsOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).logs as { event: string; detail: string }[];
const offered = () => (here.model.requests.at(-1)?.tools ?? []).map((tool) => tool.function.name);
const results = () =>
  here.model.requests
    .at(-1)
    ?.messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content);

describe('an agent with an MCP server', () => {
  it('of files, a Python tool and bash has them work together', async () => {
    const shared = `${home}-shared`;
    await mkdir(shared, { mode: 0o777 });
    await writeFile(join(shared, 'a.txt'), 'from the server');
    const file = `${MODULES}/@modelcontextprotocol/server-filesystem/dist/index.js`;
    const files = await mcpServer('files', [file, shared], { paths: [MODULES, process.execPath, `${shared}:rw`] });
    const agent = { mcp_server_ids: [files], builtin_tools: ['bash', 'read'] };
    const workflow_id = await here.workflow({ agent, tools: ['def add(a: int, b: int) -> int:\n    return a + b\n'] });
    here.model.script(
      asks(
        { name: 'read_text_file', args: { path: join(shared, 'a.txt') } },
        { name: 'bash', args: { command: 'echo 42 > x; cat x' } },
      ),
      asks({ name: 'read', args: { file_path: 'x' } }),
      says('Done.'),
    );
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'Done.' });
    expect(results()).toEqual(['from the server', '42', '     1\t42']);
    expect(offered()).toEqual(expect.arrayContaining(['bash', 'read', 'read_text_file']));
    expect(await logsOf(workflow_id)).toContainEqual(expect.objectContaining({ event: 'mcp_connected', server: 'files' }));
  });

  it('that is down is logged, and the run continues without its tools', async () => {
    const down = await mcpServer('down', ['/no/such/file.js']);
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [down] } });
    here.model.script(says('Continued.'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed' });
    expect(offered()).toEqual([]);
    expect(await logsOf(workflow_id)).toContainEqual(
      expect.objectContaining({ event: 'mcp_error', detail: expect.stringContaining('down cannot be reached') }),
    );
  });

  it('that restarts between runs and within one gives every run its tools', async () => {
    const peer = await startHttpMcpServer('restarted', (mcp) => {
      mcp.registerTool('act', {}, async () => ({ content: [{ type: 'text', text: 'acted' }] }));
    });
    const server = { name: 'restarted', transport_type: 'http', connection_config: { url: peer.url } };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', server));
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id] } });
    for (let runs = 0; runs < 2; runs += 1) {
      here.model.script((...answered) => {
        peer.forget();
        return asks({ name: 'act' })(...answered);
      }, says('Done.'));
      expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed', response: 'Done.' });
      expect(results()).toEqual(['acted']);
      peer.forget();
    }
    await peer.stop();
  });

  it('that is down for a moment is waited for, which the log of the run reports', async () => {
    const register = (mcp: McpServer) => {
      mcp.registerTool('act', {}, async () => ({ content: [{ type: 'text', text: 'acted' }] }));
    };
    const peer = await startHttpMcpServer('away', register);
    const values = { name: 'away', transport_type: 'http', connection_config: { url: peer.url } };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', values));
    await here.alice.ok(here.alice.post(`/api/mcps/${id}/test`, {}));
    await peer.stop();
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id] } });
    here.model.script(asks({ name: 'act' }), says('Done.'));
    const task_id = await here.prompt(workflow_id);
    const waiting = async () => (await logsOf(workflow_id)).find(({ event }) => event === 'progress')?.detail;
    expect(await until('the run reports that it waits', waiting)).toMatch(/^Waiting for the MCP server away: /);
    const back = await startHttpMcpServer('away', register, Number(new URL(peer.url).port));
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Done.' });
    expect(results()).toEqual(['acted']);
    await back.stop();
  });

  it('that is required and down fails the run with the reason', async () => {
    const down = await mcpServer('needed', ['/no/such/file.js']);
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [down], required_mcp_servers: [down] } });
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({
      ...{ status: 'failed', error_code: 'mcp_unavailable' },
      error: expect.stringContaining('needed cannot be reached'),
    });
  });

  it('keeps the tools it found, even if the server changes them during the run', async () => {
    const changing = await odd('changing', 'changes');
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [changing] } });
    here.model.script(asks({ name: 'change' }), says('Changed.'));
    await here.ended(await here.prompt(workflow_id));
    expect(offered()).toEqual(['before', 'change']);
  });

  it('has tools of the same name renamed, and logs it', async () => {
    const servers = [await odd('left', 'pages', { tags: ['twins'] }), await odd('right', 'pages', { tags: ['twins'] })];
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [servers[0]], mcp_server_tags: ['twins'] } });
    here.model.script(says('Seen.'));
    await here.ended(await here.prompt(workflow_id));
    expect(offered()).toEqual(expect.arrayContaining(['page0', 'right_page0']));
    expect((await logsOf(workflow_id)).map(({ detail }) => detail)).toContain(
      'The tool page0 of right is called right_page0, as the name is taken',
    );
  });

  it('is given the stable key of each call, and secrets of the owner only', async () => {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'mcp-secret', value: 's3cret-value' }));
    const connection_config = {
      command: process.execPath,
      args: [`${SERVERS}/odd.mjs`, 'digests'],
      env: { SECRET: '{{token:mcp-secret}}' },
    };
    const server = await odd('secretive', 'x', { connection_config });
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server] } });
    here.model.script(asks({ name: 'key' }), says('ok'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    // The secret is redacted from what the server answers; its digest shows that the server had it.
    const sha256 = createHash('sha256').update('s3cret-value').digest('hex');
    expect(JSON.parse(results()?.[0] ?? '')).toEqual({ meta: `${task_id}:1-1`, env: '[redacted]', sha256 });
  });

  it('has a call broken off by a halt', async () => {
    const server = await odd('hanging', 'hang-me');
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [server] } });
    here.model.script(asks({ name: 'hang' }));
    const task_id = await here.prompt(workflow_id);
    await expect.poll(() => logsOf(workflow_id)).toContainEqual(expect.objectContaining({ event: 'tool_call' }));
    await here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/halt`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
  });
});

describe('a stdio server with state', () => {
  const kept = async (workflow_id: string, word: string, who = here.alice) => {
    here.model.script(asks({ name: 'keep', args: { word } }), says('Kept.'));
    const { task_id } = await who.ok(who.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Keep it.' }), 201);
    await until('the run ends', async () => (await who.ok(who.get(`/api/tasks/${task_id}`))).status === 'completed');
    return results();
  };
  const foldersOf = (id: string) => readdir(join(home, 'mcp-state', id)).catch(() => []);

  it('keeps it between runs, for each person alone, until that person clears it or the server is deleted', async () => {
    const id = await mcpServer('keeper', [`${SERVERS}/keeps.mjs`], { state: true });
    expect(await here.alice.ok(here.alice.get(`/api/mcps/${id}`))).toMatchObject({ state: true });
    const agent = { mcp_server_ids: [id] };
    const [first, second] = [await here.workflow({ agent }), await here.workflow({ agent })];
    const [agent_id, other] = await Promise.all(
      [first, second].map(async (workflow_id) => (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).agent_id),
    );
    const bobs = (await here.bob.ok(here.bob.post('/api/workflows', { title: 'his', agent_id }), 201)).id;
    expect(await kept(first, 'hers')).toEqual(['""']);
    expect(await kept(second, ' again')).toEqual(['"hers"']);
    expect(await kept(bobs, 'his', here.bob)).toEqual(['""']);
    expect(await foldersOf(id)).toHaveLength(2);

    expect((await here.bob.send('DELETE', `/api/mcps/${id}/state`)).status).toBe(204);
    expect(await foldersOf(id)).toHaveLength(1);
    expect(await here.alice.ok(here.alice.post(`/api/mcps/${id}/test`, {}))).toMatchObject({ success: true });
    expect(await kept(first, '')).toEqual(['"hers again"']);
    expect((await here.bob.send('DELETE', `/api/mcps/${id}`)).status).toBe(403);
    expect(await foldersOf(id)).toHaveLength(1);

    for (const used of [agent_id, other]) await here.alice.put(`/api/agents/${used}`, { mcp_server_ids: [] });
    expect((await here.alice.send('DELETE', `/api/mcps/${id}`)).status).toBe(204);
    expect(await foldersOf(id)).toEqual([]);
    expect((await here.alice.send('DELETE', `/api/mcps/${id}/state`)).status).toBe(404);
  });

  it('loses what was left of a deleted server, not of one that exists or that its database does not know', async () => {
    const [id = '', deleted = ''] = await Promise.all(
      ['present', 'gone'].map((name) => mcpServer(name, [`${SERVERS}/keeps.mjs`], { state: true })),
    );
    expect((await here.alice.send('DELETE', `/api/mcps/${deleted}/state`)).status).toBe(204);
    expect((await here.alice.send('DELETE', `/api/mcps/${id}/state`)).status).toBe(204);
    expect((await here.alice.send('DELETE', `/api/mcps/${deleted}`)).status).toBe(204);
    const unknown = '0190a0c4-6b1e-7c3a-9f57-0d2c5a1be009';
    for (const folder of [id, deleted, unknown, 'other'])
      await mkdir(join(home, 'mcp-state', folder, 'person'), { recursive: true });
    await reconcileMcpState(here.core.store, createMcpState({ parent: join(home, 'mcp-state'), limits: { bytes: 1, files: 1 } }));
    expect((await readdir(join(home, 'mcp-state'))).sort()).toEqual([id, unknown, 'other'].sort());
  });
});

describe('the API of MCP servers', () => {
  it('tries a server and lists its tools', async () => {
    const id = await odd('tried', 'plain', { allowed_tools: ['key'] });
    expect((await here.alice.post(`/api/mcps/${id}/test`)).body).toMatchObject({ success: true, error: null });
    const { tools } = (await here.alice.get(`/api/mcps/${id}/tools`)).body;
    expect(tools.find(({ name }: { name: string }) => name === 'key')).toMatchObject({ effect: 'read', allowed: true });
    expect((await here.alice.get(`/api/mcps/${id}`)).body).toMatchObject({ status: 'connected' });
    const broken = await mcpServer('broken', ['/no/such/file.js']);
    expect((await here.alice.post(`/api/mcps/${broken}/test`)).body).toMatchObject({ success: false });
    expect((await here.alice.get(`/api/mcps/${broken}/tools`)).status).toBe(502);
    expect((await here.alice.post(`/api/mcps/${broken}/tools/refresh`)).status).toBe(502);
  });

  const listed = async (id: string, client = here.alice) => client.ok(client.get(`/api/mcps/${id}/tools`));
  const namesIn = ({ tools }: Record<string, any>) => (tools as { name: string }[]).map(({ name }) => name);

  it('answers with the tools that were listed last, until the connection is changed', async () => {
    const id = await odd('remembered', 'plain');
    expect(await listed(id)).toEqual({
      tools: [],
      listed_at: null,
      note: expect.stringContaining(`${id}/tools/refresh asks it`),
    });
    const refreshed = await here.alice.ok(here.alice.post(`/api/mcps/${id}/tools/refresh`));
    expect(namesIn(refreshed)).toContain('key');
    expect(await listed(id)).toEqual(refreshed);
    // Nothing personal was sent to the server.
    expect(await listed(id, here.bob)).toEqual(refreshed);
    await here.alice.ok(here.alice.put(`/api/mcps/${id}`, { description: 'renamed', allowed_tools: ['key'] }));
    expect(namesIn(await listed(id))).toEqual(namesIn(refreshed));
    const connection_config = { command: process.execPath, args: [`${SERVERS}/odd.mjs`, 'pages'] };
    await here.alice.ok(here.alice.put(`/api/mcps/${id}`, { connection_config }));
    expect(await listed(id)).toMatchObject({ tools: [], listed_at: null });
  });

  it('keeps what a run listed, all of it, and what was obtained with a stored token from others', async () => {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'listing-secret', value: 'l1sting-value', shared: true }));
    const args = [`${SERVERS}/odd.mjs`, 'plain'];
    const connection_config = { command: process.execPath, args, env: { SECRET: '{{token:listing-secret}}' } };
    const open = await odd('ran', 'plain', { allowed_tools: ['key'] });
    const personal = await odd('ran with a token', 'plain', { connection_config });
    const workflow_id = await here.workflow({ agent: { mcp_server_ids: [open, personal] } });
    here.model.script(says('ok'));
    await here.ended(await here.prompt(workflow_id));
    expect(namesIn(await listed(open, here.bob)).length).toBeGreaterThan(1);
    expect(namesIn(await listed(personal))).toContain('key');
    expect(await listed(personal, here.bob)).toMatchObject({ tools: [], listed_at: null });
    // A grant lets other people's runs use a shared token, and they then have their own listing.
    await here.bob.ok(here.bob.post(`/api/mcps/${personal}/tools/refresh`));
    expect(namesIn(await listed(personal, here.bob))).toContain('key');
  });
});

it('a call takes as many milliseconds in its event and its record as the tool slept, and not a hundred times as many', async () => {
  const SLEPT_MS = 307;
  const source = `import time\ndef sleeps() -> str:\n    time.sleep(${SLEPT_MS / 1_000})\n    return "rested"\n`;
  const workflow_id = await here.workflow({ tools: [source] });
  here.model.script(
    (response, request) => asks({ name: request.tools?.[0]?.function.name ?? '' })(response, request),
    says('Done.'),
  );
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  const { logs, steps_detail: steps } = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}?include=logs,steps`));
  const event = (logs as Record<string, unknown>[]).find((entry) => entry.event === 'tool_result');
  const recorded = steps[0].tool_calls[0];
  expect(recorded).toMatchObject({ failed: false, duration_ms: event!.duration_ms });
  expect(recorded.duration_ms).toBeGreaterThanOrEqual(SLEPT_MS);
  expect(recorded.duration_ms).toBeLessThan(SLEPT_MS * 100);
});

it('processes of MCP servers end with their worker', async () => {
  const running = () =>
    new Promise<number>((resolve) =>
      execFile('ps', ['-eo', 'args'], (_, out) =>
        resolve(out.split('\n').filter((line) => line.includes('odd.mjs hang-me')).length),
      ),
    );
  expect(await running()).toBeGreaterThan(0);
  await here.stop();
  expect(await running()).toBe(0);
});
