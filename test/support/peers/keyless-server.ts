import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DEMO_MODEL, startDemoModel } from '../../../src/embedded/demo-model.ts';

export interface KeylessServer {
  /** Host and port. */
  address: string;
  /** The key of each request. */
  keys: (string | undefined)[];
  stop(): Promise<void>;
}

export const KEYLESS_MODEL = DEMO_MODEL;

/** Starts a local model server, such as Ollama: it serves only /v1 and requires no key. */
export async function startKeylessServer(): Promise<KeylessServer> {
  const demo = await startDemoModel({ token_delay_ms: 0 });
  const keys: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    if (!request.url?.startsWith('/v1/'))
      return void response.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found');
    keys.push(request.headers.authorization ?? (request.headers['x-api-key'] as string | undefined));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const init = { method: request.method ?? 'GET', ...(chunks.length > 0 && { body: Buffer.concat(chunks) }) };
    const answer = await fetch(`${new URL(demo.url).origin}${request.url}`, {
      ...init,
      headers: { 'content-type': 'application/json' },
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
    for await (const chunk of answer.body!) response.write(chunk);
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    async stop() {
      server.closeAllConnections();
      server.close();
      await demo.stop();
    },
  };
}
