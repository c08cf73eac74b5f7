import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Trap {
  url: string;
  /** Everything that the trap received: the request line, the headers and the body of each request. */
  received: string[];
  stop(): Promise<void>;
}

/** Starts a server that keeps everything it receives, without any protocol. */
export async function startTrap(): Promise<Trap> {
  const received: string[] = [];
  const server = createServer(async (request, response) => {
    received.push([request.method, request.url, JSON.stringify(request.headers), await text(request)].join(' '));
    response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
