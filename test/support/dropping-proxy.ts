import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface DroppingProxy {
  url: string;
  /** Breaks every connection that is open now. */
  drop(): void;
  stop(): Promise<void>;
}

/** A proxy between client and server that breaks connections on request. */
export async function startDroppingProxy(target: string): Promise<DroppingProxy> {
  const { port, hostname } = new URL(target);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    drop,
    async stop() {
      server.close();
      drop();
      await once(server, 'close');
    },
  };
}
