import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface DroppingProxy {
  url: string;
  /** Breaks every connection that is open now. */
  drop(): void;
  /**
   * Passes on nothing more in either direction on the connections that are open now, nor their end: to both sides the other one is
   * silent, as when a cable is pulled. With `saying`, only on those whose client began with bytes that hold this text. With `fresh`,
   * connections that are opened later are silent as well, until `speak` is called. `which` leaves out some of those that are open.
   * The result serves again what this call silenced.
   */
  silence(options?: { fresh?: boolean; saying?: string; which?: () => boolean }): () => void;
  /** Serves every connection again; what was held back is passed on. */
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

/** A proxy between client and server that breaks connections, or stops answering on them, on request. A function names a server that may move. */
export async function startDroppingProxy(target: string | (() => string)): Promise<DroppingProxy> {
  const open = new Set<Pair>();
  let muted: (opening: string) => boolean = () => false;
  // A half that is closed by its side stays open here, so that the other side does not learn of it while the pair is silent.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const { port, hostname } = new URL(typeof target === 'string' ? target : target());
    const upstream = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    const pair: Pair = { client, upstream, silent: false, opening: null };
    open.add(pair);
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const pair of open) for (const [socket] of sidesOf(pair)) socket.destroy();
    open.clear();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
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
    // A paused socket reports its end as well, and only once.
    if (from.readableEnded) to.end();
  }
}

const sidesOf = ({ client, upstream }: Pair) =>
  [
    [client, upstream],
    [upstream, client],
  ] as const;

/** The same address, by way of a proxy. */
export function throughProxy(address: string, proxy: DroppingProxy): string {
  const url = new URL(address);
  url.host = new URL(proxy.url).host;
  return url.href;
}
