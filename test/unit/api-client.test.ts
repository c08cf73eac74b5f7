import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { apiClient } from '../../src/main/api-client.ts';

it.each([
  [502, '<html>', 'GET /api/me was answered with 502 and no JSON, maybe by a proxy'],
  [200, '<html>', 'GET /api/me was answered with 200 and no JSON, maybe by a proxy'],
  [404, '{"detail":"Not here"}', 'GET /api/me was answered with 404: Not here'],
])('an answer %i of %s fails with a sentence', async (status, body, sentence) => {
  const server = createServer((_, response) => response.writeHead(status).end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const call = apiClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'hunter2');
  await expect(call('GET', '/api/me')).rejects.toThrow(new Error(sentence));
  server.closeAllConnections();
  server.close();
});
