import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { nameTo } from '../contract/faulty-names.ts';

/** The ways in which the server fails. */
export type Fault =
  /** Its port is closed. */
  | { at: 'port' }
  /** It breaks every connection. */
  | { at: 'socket' }
  /** Its name cannot be resolved or reached: looking it up, or dialling it, fails with this code. */
  | { at: 'name'; code: string }
  /** It refuses every new connection with this SQLSTATE. */
  | { at: 'startup'; code: string }
  /** It answers every statement with this SQLSTATE. */
  | { at: 'statement'; code: string };

export interface FaultyPostgres {
  /** The host: the server's own name instead of an address. */
  host: string;
  /** Makes the server fail; null: it serves. */
  fail(fault: Fault | null): Promise<void>;
  /** Returns how often a fault has affected a client since it began. Clients that find the port closed are not counted. */
  hits(): number;
  stop(): Promise<void>;
}

const NAME = 'faulty-postgres.test';
const TERMINATE = 0x58;
const PASSWORD = 0x70;
const QUERY = 0x51;
const SYNC = 0x53;

/**
 * Starts a proxy in front of a Postgres server that fails as a real one would: with the messages of its protocol, or on the
 * network.
 */
export async function startFaultyPostgres(target: string): Promise<FaultyPostgres> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let fault: Fault | null = null;
  let hits = 0;
  const hit = () => {
    hits += 1;
  };
  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    client.on('error', () => {});
    if (fault?.at === 'socket') {
      hit();
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ host: hostname, port: Number(port) });
    upstream.on('error', () => {});
    upstream.pipe(client);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    let rest = Buffer.alloc(0);
    let started = false;
    client.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      for (let size = sizeOf(rest, started); size !== null && size <= rest.length; size = sizeOf(rest, started)) {
        const message = rest.subarray(0, size);
        rest = rest.subarray(size);
        const type = started ? message[0] : undefined;
        started = true;
        if (type === undefined && fault?.at === 'startup') {
          hit();
          client.end(errorResponse(fault.code, 'FATAL'));
        } else if (type !== undefined && type !== PASSWORD && type !== TERMINATE && fault?.at === 'statement') {
          if (type !== QUERY && type !== SYNC) continue;
          hit();
          client.write(Buffer.concat([errorResponse(fault.code, 'ERROR'), READY]));
        } else upstream.write(message);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  const restoreNames = nameTo(NAME, () => {
    if (fault?.at !== 'name') return null;
    hit();
    return fault.code;
  });
  const breakAll = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    host: `http://${NAME}:${own}`,
    hits: () => hits,
    async fail(next) {
      const closed = fault?.at === 'port';
      fault = next;
      hits = 0;
      if (next && next.at !== 'statement') breakAll();
      if (next?.at === 'port') {
        server.close();
        breakAll();
        await once(server, 'close');
      } else if (closed) {
        server.listen(own, '127.0.0.1');
        await once(server, 'listening');
      }
    },
    async stop() {
      restoreNames();
      if (!server.listening) return;
      server.close();
      breakAll();
      await once(server, 'close');
    },
  };
}

/** Returns the size of the first message; null if it is not known yet. A connection's very first message has no type. */
function sizeOf(bytes: Buffer, started: boolean): number | null {
  const head = started ? 1 : 0;
  return bytes.length < head + 4 ? null : head + bytes.readInt32BE(head);
}

function framed(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const errorResponse = (code: string, severity: string): Buffer =>
  framed('E', Buffer.from(`S${severity}\0V${severity}\0C${code}\0Msaid by the test, with secret-of-a-statement\0\0`));

const READY = framed('Z', Buffer.from('I'));
