import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';

const VERSION = '2026-07-28';
let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

type Negotiation = NonNullable<ConstructorParameters<typeof Client>[1]>['versionNegotiation'];

const requestInit = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

async function connected(versionNegotiation: Negotiation = { mode: { pin: VERSION } }, token = here.people.alice.token) {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${here.url}/mcp`), requestInit(token)));
  return client;
}

async function toolOf(title: string): Promise<string> {
  const workflow_id = await here.workflow({ workflow: { title } });
  return `${title}_${workflow_id.slice(-8)}`;
}

/** Sends a request as a client that takes tasks; the SDK's client takes none. */
async function send(method: string, params: Record<string, unknown>, { token = here.people.alice.token, headers = {} } = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const name = params.name ?? params.taskId;
  const response = await fetch(`${here.url}/mcp`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      ...{ 'mcp-protocol-version': VERSION, 'mcp-method': method, ...(name ? { 'mcp-name': String(name) } : {}) },
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  });
  const body = await response.text();
  const { result, error } = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body);
  return { status: response.status, result, error };
}

it('a client without a handshake discovers the server, lists its tools, and gets the progress of a call', async () => {
  const client = await connected();
  expect(client.getDiscoverResult()).toMatchObject({ supportedVersions: [VERSION], capabilities: { tools: {} } });
  expect(client.getServerVersion()).toMatchObject({ name: 'perdura' });
  const name = await toolOf('New');
  expect((await client.listTools()).tools).toContainEqual(expect.objectContaining({ name, outputSchema: expect.anything() }));
  here.model.script(asks({ name: 'no-such' }), says('Summed.'));
  const progress: string[] = [];
  const onprogress = ({ message = '' }: { message?: string }) => void progress.push(message);
  expect(await client.callTool({ name, arguments: { prompt: 'Go' } }, { onprogress })).toMatchObject({
    content: [{ type: 'text', text: 'Summed.' }],
    structuredContent: { answer: 'Summed.' },
  });
  expect(progress).toEqual(expect.arrayContaining(['Asking the model', 'Calling no-such']));
  expect(await client.callTool({ name: 'nothing', arguments: { prompt: 'x' } })).toMatchObject({ isError: true });
  await client.close();
});

it.each<[string, Negotiation, string]>([
  ['that knows both versions uses the newer one', { mode: 'auto' }, 'modern'],
  ['that asks for a handshake gets it', { mode: 'legacy' }, 'legacy'],
])('a client %s', async (_what, negotiation, era) => {
  const client = await connected(negotiation);
  expect(client.getProtocolEra()).toBe(era);
  const name = await toolOf('Both');
  here.model.script(says('Hi.'));
  expect(await client.callTool({ name, arguments: { prompt: 'Go' } })).toMatchObject({ structuredContent: { answer: 'Hi.' } });
  await client.close();
});

it('a client of the older SDK is served, too', async () => {
  const client = new OlderClient({ name: 'older', version: '1' });
  await client.connect(new OlderTransport(new URL(`${here.url}/mcp`), requestInit(here.people.alice.token)) as never);
  const name = await toolOf('Old');
  here.model.script(says('Hi.'));
  expect(await client.callTool({ name, arguments: { prompt: 'Go' } })).toMatchObject({ structuredContent: { answer: 'Hi.' } });
  await client.close();
});

it('a client without a handshake that stops waiting for a call halts its run', async () => {
  const client = await connected();
  const name = await toolOf('Halted');
  here.model.script(hangs());
  const asked = here.model.requests.length;
  const halt = new AbortController();
  const calling = client.callTool({ name, arguments: { prompt: 'Go' } }, { signal: halt.signal });
  await expect.poll(() => here.model.requests.length).toBe(asked + 1);
  halt.abort();
  await expect(calling).rejects.toThrow();
  const [workflow] = (await here.alice.ok(here.alice.get('/api/workflows?q=Halted'))) as unknown as { id: string }[];
  const tasks = async () =>
    (await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow?.id}`))) as unknown as { status: string }[];
  await expect.poll(async () => (await tasks())[0]?.status).toBe('halted');
  await client.close();
});

it('a client that takes tasks gets one for its call, and nobody else gets it', async () => {
  const name = await toolOf('Task');
  here.model.script(says('Done at last.'));
  const { result: created } = await send('tools/call', { name, arguments: { prompt: 'Go' } });
  expect(created).toMatchObject({ resultType: 'task', ttlMs: null, pollIntervalMs: expect.any(Number) });
  const { taskId } = created;
  const get = async () => (await send('tasks/get', { taskId })).result;
  await expect.poll(async () => (await get()).status).toBe('completed');
  expect(await get()).toMatchObject({
    resultType: 'complete',
    taskId,
    result: { structuredContent: { answer: 'Done at last.', task_id: taskId } },
  });
  expect((await send('tasks/update', { taskId, inputResponses: {} })).result).toMatchObject({ resultType: 'complete' });
  expect((await send('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
  expect(await get()).toMatchObject({ status: 'completed' });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    expect(await send(method, { taskId }, { token: here.people.bob.token })).toMatchObject({
      error: { code: -32602, message: `You have no task with id ${taskId}` },
    });
});

it('a task that fails has a result with the reason; one that is halted is cancelled', async () => {
  const name = await toolOf('Ends');
  here.model.script(fails(400, { message: 'bad thing' }));
  const failed = (await send('tools/call', { name, arguments: { prompt: 'Go' } })).result.taskId;
  await expect.poll(async () => (await send('tasks/get', { taskId: failed })).result.status).toBe('completed');
  expect((await send('tasks/get', { taskId: failed })).result.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('bad thing') }],
  });
  here.model.script(hangs());
  const halted = (await send('tools/call', { name, arguments: { prompt: 'Go' } })).result.taskId;
  await send('tasks/cancel', { taskId: halted });
  await expect.poll(async () => (await send('tasks/get', { taskId: halted })).result.status).toBe('cancelled');
});

it('a request whose headers say something else, or that names another version, is refused as the protocol says', async () => {
  expect(await send('tools/list', {}, { headers: { 'mcp-method': 'tools/call' } })).toMatchObject({
    status: 400,
    error: { code: -32020 },
  });
  const _meta = { 'io.modelcontextprotocol/protocolVersion': '2099-01-01', 'io.modelcontextprotocol/clientCapabilities': {} };
  const response = await here.alice.post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }, {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2099-01-01',
  } as never);
  expect(response).toMatchObject({ status: 400, body: { error: { code: -32022, data: { supported: [VERSION] } } } });
  expect(await send('no/such', {})).toMatchObject({ status: 404, error: { code: -32601 } });
  expect((await send('tools/list', {}, { token: 'nobody' })).status).toBe(401);
});
