import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Received {
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/**
 * Starts a server that keeps what it receives and responds with the given statuses, then with 200. A redirect goes to
 * `location`.
 */
export async function startReceiver({ location, port = 0 }: { location?: string; port?: number } = {}) {
  const received: Received[] = [];
  const statuses: number[] = [];
  let holding = false;
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) });
    if (holding) return;
    response.writeHead(statuses.shift() ?? 200, location ? { location } : {}).end();
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    /** Makes it accept messages and answer none. */
    holds: (hold = true) => {
      holding = hold;
    },
    answers: (...codes: number[]) => void statuses.push(...codes),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
