import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { type SecretWorld, startSecretWorld } from '../support/contract/secret-world.ts';
import { ALICE, BOB } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let world: SecretWorld;
beforeAll(async () => {
  const env = { UPLOADS_PER_PRINCIPAL: '1', UPLOADS_IN_PROGRESS: '2', WORKSPACE_FILES: '20', STREAMS_OPEN: '2' };
  world = await startSecretWorld({ env });
});
afterAll(() => world.stop());

const EMPTY = { version: '1.0', resource_type: 'skill', items: [] };

const importing = (as: Client) => as.post('/api/skills/import', EMPTY);

/** An upload that holds one of its user's places and sends nothing more. */
const held = (as: Client, token: string): Promise<Socket> =>
  until('a place is held', async () => {
    const { hostname, port } = new URL(world.url);
    const socket = connect(Number(port), hostname);
    let refused = false;
    socket
      .on('error', () => {})
      .on('data', () => {
        refused = true;
      });
    const head = ['POST /api/knowledge-items/upload HTTP/1.1', 'host: localhost', `authorization: Bearer ${token}`];
    const form = ['content-type: multipart/form-data; boundary=b', 'content-length: 5000', '', '--b', ''];
    socket.write([...head, ...form].join('\r\n'));
    // An import that comes first takes the place itself, and the upload is refused.
    await wait(200);
    const { body } = await importing(as);
    if (!refused && body.code === 'uploads_limit') return socket;
    socket.destroy();
    return null;
  });

it('refuses an upload when all places of the service are taken, until one is free again', async () => {
  for (let round = 0; round < 2; round += 1) {
    const sockets = [await held(world.alice, ALICE), await held(world.bob, BOB)];
    const refusal = await importing(world.root);
    expect(refusal).toMatchObject({ status: 429, body: { code: 'uploads_limit' } });
    expect(refusal.body.detail).toContain('UPLOADS_IN_PROGRESS');
    for (const socket of sockets) socket.destroy();
    await until('a place is free', async () => (await importing(world.root)).status < 300);
  }
});

it('refuses a stream when as many are open as the service allows, through every interface, until one ends', async () => {
  const id = await world.workflow();
  const gone = new AbortController();
  const open = (token: string) =>
    fetch(`${world.url}/api/workflows/${id}/stream`, { headers: { authorization: `Bearer ${token}` }, signal: gone.signal });
  expect((await open(ALICE)).status).toBe(200);
  expect((await open(ALICE)).status).toBe(200);
  const { root } = world;
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'x', arguments: { prompt: 'x' } } };
  const accept = { accept: 'application/json, text/event-stream' };
  const refusals = [
    await root.get(`/api/workflows/${id}/stream`),
    await root.post('/v1/chat/completions', { model: 'x', messages: [{ role: 'user', content: 'x' }], stream: true }),
    await root.post('/v1/responses', { model: 'x', input: 'x', stream: true }),
    await root.post('/mcp', call, accept),
    await root.post(`/api/agents/${(await world.alice.ok(world.alice.get(`/api/workflows/${id}`))).agent_id}/chat`, {
      message: 'x',
    }),
  ];
  for (const { status, headers, body } of refusals) {
    expect({ status, body: JSON.stringify(body) }).toEqual({ status: 429, body: expect.stringContaining('STREAMS_OPEN') });
    expect(JSON.stringify(body)).toContain('streams_limit');
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }
  gone.abort();
  await until('a place is free', async () => (await root.get(`/api/workflows/${id}/stream`)).status === 403);
});

it('counts what a tool hides in a closed directory of its workspace', async () => {
  const workflow_id = await world.workflow({ agent: { builtin_tools: ['bash', 'write'] } });
  const command = 'mkdir hidden; for i in $(seq 30); do echo x > hidden/f$i; done; chmod 0 hidden';
  world.model.script(
    asks({ name: 'bash', args: { command } }),
    asks({ name: 'write', args: { file_path: 'more.txt', content: 'x' } }),
    says('done'),
  );
  await world.ended(await world.prompt(workflow_id));
  const results = world.model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
  expect(results).toHaveLength(2);
  for (const { content } of results) expect(content).toContain('WORKSPACE_FILES');
});
