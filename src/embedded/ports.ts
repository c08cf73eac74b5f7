import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { readIfExists, replaceFile } from './files.ts';

const LOOPBACK = '127.0.0.1';
const SPAN = 100;

/** Returns the first free port from `first` on. If all ports near it are taken, or `first` is 0, any free port of the system. */
export async function findFreePort(first = 0, host = LOOPBACK): Promise<number> {
  const last = Math.min(first + SPAN, 65_535);
  for (let port = first; port > 0 && port <= last; port += 1) {
    if (await listenOnce(port, host)) return port;
  }
  return (await listenOnce(0, host)) ?? Promise.reject(new Error(`No port is free on ${host}`));
}

/** Returns the port that a service had at its last start, so that bookmarks stay valid. */
export async function loadPort(home: string, service: string): Promise<number | undefined> {
  const port = Number(await readIfExists(join(home, 'ports', service)));
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
}

export async function savePort(home: string, service: string, port: number): Promise<void> {
  if ((await loadPort(home, service)) !== port) await replaceFile(join(home, 'ports', service), `${port}\n`);
}

/**
 * Returns a free port for a service: `configured` or the next free one after it. If none is configured, that of the last start, or else
 * `first` or the next free one after it, which is saved.
 */
export async function reservePort(
  home: string,
  service: string,
  first: number,
  { configured, host }: { configured?: number | undefined; host?: string } = {},
): Promise<number> {
  if (configured !== undefined) return findFreePort(configured, host);
  const port = await findFreePort((await loadPort(home, service)) ?? first, host);
  await savePort(home, service, port);
  return port;
}

function listenOnce(port: number, host: string): Promise<number | undefined> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') done(undefined);
      else fail(error);
    });
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address() as AddressInfo;
      server.close(() => done(address.port));
    });
  });
}
