import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { connect } from '../../src/tools/mcp/connection.ts';

const stops: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(stops.splice(0).map((stop) => stop())));

/** What a server never answers: a stream that stays empty, the notification after `initialize`, the end of its session. */
type Silence = 'stream' | 'notification' | 'end';

interface Message {
  id?: number;
  method?: string;
  params?: { protocolVersion?: string };
}

async function silentServer(silence: Silence) {
  const left: string[] = [];
  const server = createServer(async (request, response) => {
    const { id, method = '', params } = (request.method === 'POST' ? await json(request) : {}) as Message;
    const isSilent =
      (silence === 'notification' && method === 'notifications/initialized') ||
      (silence === 'end' && request.method === 'DELETE');
    if (isSilent) return void request.socket.once('close', () => left.push(method || 'DELETE'));
    if (silence === 'stream') return stream(request.method, response, () => left.push('stream'));
    if (method !== 'initialize') return void response.writeHead(request.method === 'GET' ? 405 : 202).end();
    const result = { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: { name: 'silent', version: '1' } };
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { left, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

/** The older transport, which never names the address for messages. */
function stream(method: string | undefined, response: ServerResponse, ended: () => void): void {
  if (method === 'POST') return void response.writeHead(405).end();
  response.on('close', ended);
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n');
}

const connectTo = (url: string) => {
  const endpoint = { kind: 'http' as const, url, headers: {} };
  const target = { id: 'id', name: 'silent', endpoint, network: true, paths: [] };
  return connect(target, { startConfined: null, schemaFaults: async () => [], connect_ms: 500 }, 'test');
};

it.each([
  ['stream', /answered 405 to streamable HTTP, and to the older transport: .*it did not answer within 0.5 s/],
  ['notification', /cannot be reached: it did not answer within 0.5 s/],
] as const)('a connection does not wait for a silent %s, and leaves nothing open', async (silence, reason) => {
  const { url, left } = await silentServer(silence);
  await expect(connectTo(url)).rejects.toThrow(reason);
  await expect.poll(() => left).toHaveLength(1);
});

it('the end of a connection does not wait for a server that never ends its session', async () => {
  const { url, left } = await silentServer('end');
  const connection = await connectTo(url);
  await connection.close();
  await expect.poll(() => left).toEqual(['DELETE']);
});
