import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../bin/healthcheck.mjs', import.meta.url));

async function listening(status: number) {
  const server = createServer(({ url }, response) => response.writeHead(url === '/health/ready' ? status : 404).end(`${status}`));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { port: String((server.address() as AddressInfo).port), close: () => server.close() };
}

/** The exit code of the check in a container whose processes listen there. */
async function check(WORKER_PORT: string, PERDURA_PORT: string): Promise<unknown> {
  const [code] = await once(spawn(process.execPath, [SCRIPT], { env: { WORKER_PORT, PERDURA_PORT } }), 'exit');
  return code;
}

it('the container of a worker or of the API is healthy while that is ready', async () => {
  const [ready, unready, gone] = await Promise.all([listening(200), listening(503), listening(200)]);
  gone.close();
  const ports = [
    [ready.port, gone.port],
    [gone.port, ready.port],
    [unready.port, gone.port],
    [gone.port, unready.port],
    [unready.port, ready.port],
    [gone.port, gone.port],
  ] as const;
  expect(await Promise.all(ports.map((pair) => check(...pair)))).toEqual([0, 0, 1, 1, 1, 1]);
  for (const { close } of [ready, unready]) close();
});
