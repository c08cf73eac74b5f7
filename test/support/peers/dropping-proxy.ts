import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

export interface DroppingProxy {
  url: string;
  /** Returns how many connections were opened so far, and how many of them are open. */
  counts(): { opened: number; open: number };
  /** Breaks every open connection. */
  drop(): void;
  /**
   * Forwards nothing more in either direction on the open connections, not even their end: to both sides the other one is
   * silent, as if a cable was pulled. With `saying`, this applies only to connections whose client began with bytes that
   * contain this text. With `fresh`, connections that are opened later are silent as well, until `speak` is called. `which`
   * excludes some of the open ones. The returned function undoes this call.
   */
  silence(options?: { fresh?: boolean; saying?: string; which?: () => boolean }): () => void;
  /** Serves every connection again; the data that was held back is forwarded. */
  speak(): void;
  stop(): Promise<void>;
}

interface Pair {
  client: Socket;
  upstream: Socket;
  silent: boolean;
  /** The first bytes of the client. */
  opening: string | null;
}

/** Returns an address of this machine that is not loopback; undefined if it has none. */
export const outerAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

/**
 * Starts a proxy between client and server that breaks connections, or stops answering on them, on request. `target` is a
 * function if the server may move.
 */
export async function startDroppingProxy(target: string | (() => string), host = '127.0.0.1'): Promise<DroppingProxy> {
  const open = new Set<Pair>();
  let opened = 0;
  let muted: (opening: string) => boolean = () => false;
  // If one side closes its half, the other half stays open here, so that the other side does not notice it while the pair is
  // silent.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const { port, hostname } = new URL(typeof target === 'string' ? target : target());
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const pair: Pair = { client, upstream, silent: false, opening: null };
    open.add(pair);
    opened += 1;
    for (const [from, to] of sidesOf(pair)) {
      from.on('error', () => {});
      from.on('data', (chunk: Buffer) => {
        if (from === client && pair.opening === null) {
          pair.opening = chunk.toString('latin1');
          if (muted(pair.opening)) return hush(pair, chunk);
        }
        to.write(chunk);
      });
      from.on('end', () => pair.silent || to.end());
      from.on('close', () => {
        if (pair.silent) return;
        to.destroy();
        open.delete(pair);
      });
    }
  });
  server.listen(0, host);
  await once(server, 'listening');
  const drop = () => {
    for (const pair of open) for (const [socket] of sidesOf(pair)) socket.destroy();
    open.clear();
  };
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    counts: () => ({ opened, open: open.size }),
    drop,
    silence({ fresh = false, saying = '', which = () => true } = {}) {
      if (fresh) muted = (opening) => opening.includes(saying);
      const silenced = [...open].filter((pair) => !pair.silent && pair.opening?.includes(saying) && which());
      for (const pair of silenced) hush(pair);
      return () => silenced.forEach(serve);
    },
    speak() {
      muted = () => false;
      open.forEach(serve);
    },
    async stop() {
      server.close();
      drop();
      await once(server, 'close');
    },
  };
}

function hush(pair: Pair, heard?: Buffer): void {
  pair.silent = true;
  for (const [socket] of sidesOf(pair)) socket.pause();
  if (heard) pair.client.unshift(heard);
}

function serve(pair: Pair): void {
  if (!pair.silent) return;
  pair.silent = false;
  const gone = pair.client.destroyed || pair.upstream.destroyed;
  for (const [from, to] of sidesOf(pair)) {
    if (gone) from.destroy();
    else from.resume();
    // A paused socket also reports its end, and only once.
    if (from.readableEnded) to.end();
  }
}

const sidesOf = ({ client, upstream }: Pair) =>
  [
    [client, upstream],
    [upstream, client],
  ] as const;

/** Returns the same address through a proxy. */
export function throughProxy(address: string, proxy: DroppingProxy): string {
  const url = new URL(address);
  url.host = new URL(proxy.url).host;
  return url.href;
}
