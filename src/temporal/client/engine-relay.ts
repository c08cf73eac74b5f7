import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';

interface RelayOptions {
  /** The options of the connection; `address` is `host:port`. */
  options: NativeConnectionOptions & { address: string };
  log(message: string): void;
}

interface EngineConnection {
  connection: NativeConnection;
  close(): Promise<void>;
}

/** The interval at which the connection is probed. */
const PROBE_MS = 1_000;
/**
 * The time without an answer after which a new connection is tried. It is longer than an engine with the recommended keep-alive
 * takes to close a silent connection: before that, the engine would give the work that follows from requests on the new
 * connection to requests that still wait on the old one.
 */
const PATIENCE_MS = 3_000;
/** The time limit of the probe, and of the attempt at a new connection. */
const DEADLINE_MS = 5_000;

/**
 * Opens a connection to the engine that is replaced within seconds if it falls silent. The client library notices this only after
 * 45 s, and has neither an option for it nor a way to break a connection. So its bytes pass through a relay in this process that
 * can break it: the library then connects again at once and repeats unanswered requests. Encryption stays end to end, in the
 * library. Throws the reason if the engine cannot be reached.
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

/** Opens a connection that the client library manages alone. */
export async function openConnection(options: NativeConnectionOptions): Promise<EngineConnection> {
  const connection = await NativeConnection.connect(options);
  return { connection, close: () => connection.close() };
}

/** Sends the engine a small request. An error ends the probe as well: a connection that is known to be broken is not silent. */
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

/** Returns true if the engine answers over a new connection. If it does not, its silence is not the fault of the old one. */
async function engineAnswers(options: NativeConnectionOptions): Promise<boolean> {
  const probe = NativeConnection.connect(options);
  // The connection may open after the deadline, and then has to be closed as well.
  probe.then((connection) => connection.close()).catch(() => {});
  return Promise.race([probe.then(() => true), wait(DEADLINE_MS, false, { ref: false })]).catch(() => false);
}

/** True if an address is on this machine, where a connection does not fall silent while both ends live. */
export const isOnThisMachine = (address: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(address);

/** Starts a relay that passes bytes on to one address, for clients that know its password. `drop` breaks every connection. */
export async function startRelay(address: string) {
  const password = randomBytes(24).toString('base64url');
  const expected = `Basic ${Buffer.from(`worker:${password}`).toString('base64')}`;
  // Not `http:`, which would omit port 80.
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
    /** Returns the last reason for which the address could not be reached, or a connection to it broke. */
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
