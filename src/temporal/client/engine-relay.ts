import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';

interface RelayOptions {
  /** How to reach the engine; `address` as `host:port`. */
  options: NativeConnectionOptions & { address: string };
  log(message: string): void;
}

interface EngineConnection {
  connection: NativeConnection;
  close(): Promise<void>;
}

/** How often the connection is probed. */
const PROBE_MS = 1_000;
/**
 * When an answer is so late that a new connection is tried. Longer than an engine with the recommended keep-alive takes to close a silent
 * connection: it would answer what is sent on a new connection with work for the requests on the old one.
 */
const PATIENCE_MS = 3_000;
/** How long each of the two may take. */
const DEADLINE_MS = 5_000;

/**
 * A connection to the engine that is replaced within seconds if it falls silent. The client library itself notices that after 45 s, and
 * has no option for it and no way to break a connection. So its bytes pass through a relay in this process, which can: the library
 * then connects again at once and repeats what was not answered. Encryption is the library's, from end to end. Throws the
 * reason if the engine cannot be reached.
 */
export async function openRelayedConnection({ options, log }: RelayOptions): Promise<EngineConnection> {
  const relay = await startRelay(options.address);
  const connection = await NativeConnection.connect({ ...options, proxy: relay.proxy }).catch(async (cause: Error) => {
    await relay.close();
    throw new Error(relay.failure()?.message ?? cause.message, { cause });
  });
  const closing = new AbortController();
  const probed = keepProbing();

  async function keepProbing(): Promise<void> {
    while (!closing.signal.aborted) {
      await wait(PROBE_MS, undefined, { signal: closing.signal, ref: false }).catch(() => {});
      const probe = ask(connection);
      await Promise.race([probe.ended, wait(PATIENCE_MS, undefined, { ref: false })]);
      if (probe.is_open && (await engineAnswers(options)) && probe.is_open && !closing.signal.aborted) {
        log('The connection to the workflow engine is silent, connecting again');
        relay.drop();
      }
    }
  }

  return {
    connection,
    async close() {
      closing.abort();
      await probed;
      await connection.close();
      await relay.close();
    },
  };
}

/** A connection that is left to the client library. */
export async function openConnection(options: NativeConnectionOptions): Promise<EngineConnection> {
  const connection = await NativeConnection.connect(options);
  return { connection, close: () => connection.close() };
}

/** Asks the engine for a small thing. An error ends the question too: a connection that is known to be broken is not silent. */
function ask(connection: NativeConnection) {
  const probe = { is_open: true, ended: Promise.resolve() };
  const end = () => {
    probe.is_open = false;
  };
  probe.ended = connection
    .withDeadline(Date.now() + DEADLINE_MS, () => connection.workflowService.getSystemInfo({}))
    .then(end, end);
  return probe;
}

/** Whether it answers over a new one: if it does not, a connection is not at fault for its silence. */
async function engineAnswers(options: NativeConnectionOptions): Promise<boolean> {
  const fresh = NativeConnection.connect(options);
  // It may come later, and has to be closed then as well.
  fresh.then((connection) => connection.close()).catch(() => {});
  return Promise.race([fresh.then(() => true), wait(DEADLINE_MS, false, { ref: false })]).catch(() => false);
}

/** Whether an address is on this machine, where a connection does not fall silent while both ends live. */
export const isOnThisMachine = (address: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(address);

/** Passes bytes on to one address. Only who knows the password may use it. `drop` breaks every connection. */
export async function startRelay(address: string) {
  const password = randomBytes(24).toString('base64url');
  const expected = `Basic ${Buffer.from(`worker:${password}`).toString('base64')}`;
  // Not `http:`, which leaves out port 80.
  const { hostname, port } = new URL(`tcp://${address}`);
  const open = new Set<Duplex>();
  let failure: Error | null = null;
  const server = createServer((_, reply) => void reply.writeHead(405).end());
  server.on('connect', ({ headers }, client: Duplex) => {
    client.on('error', () => {});
    if (headers['proxy-authorization'] !== expected) return client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const upstream = connect({ host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port), noDelay: true });
    upstream.once('connect', () => client.write('HTTP/1.1 200 Connection Established\r\n\r\n'));
    upstream.once('error', (error) => {
      failure = error;
    });
    join(client, upstream, open);
    join(upstream, client, open);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    proxy: {
      type: 'http-connect' as const,
      targetHost: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      basicAuth: { username: 'worker', password },
    },
    drop,
    /** Why the address could not be reached, or a connection to it broke, the last time. */
    failure: () => failure,
    async close() {
      server.close();
      drop();
      await once(server, 'close');
    },
  };
}

function join(from: Duplex, to: Duplex, open: Set<Duplex>): void {
  open.add(from);
  from.on('error', () => {});
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.on('end', () => to.end());
  from.on('close', () => {
    open.delete(from);
    to.destroy();
  });
}
