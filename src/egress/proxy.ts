import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { type DialTarget, dialEgress, EgressDenied, type Resolve } from './dial.ts';
import type { EgressRules } from './rules.ts';

/** A permission to use the proxy, valid while its holder runs. */
interface EgressPass {
  token: string;
  /** Ends the permission and every connection made with it. */
  revoke(): void;
}

/** The only network access of a confined process: an HTTP proxy that resolves, checks and dials itself. */
export interface EgressProxy {
  /** Where it listens on loopback, or 0 when it listens on a socket file. */
  readonly port: number;
  admit(): EgressPass;
  close(): Promise<void>;
}

interface EgressOptions {
  rules: EgressRules;
  /** Socket file to listen on; without it, a port on loopback. */
  path?: string;
  resolve?: Resolve;
}

const CONNECTIONS_PER_PASS = 64;
const IDLE_MS = 60_000;
const HOP_BY_HOP = new Set([
  'connection',
  'proxy-connection',
  'proxy-authorization',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export async function startEgressProxy({ rules, path, resolve }: EgressOptions): Promise<EgressProxy> {
  const passes = new Map<string, Set<Duplex>>();
  const server = createServer({ requestTimeout: 0 });
  const dial = (target: DialTarget) => dialEgress(target, rules, { resolve });
  server.on('request', (incoming, outgoing) => void relay(incoming, outgoing, { passes, dial }));
  server.on('connect', (incoming, client, head) => void tunnel(incoming, client, { passes, dial, head }));
  server.on('clientError', (_, client) => client.destroy());
  if (path) {
    server.listen(path);
    await once(server, 'listening');
    // Confined processes run as another user; the token decides who may use the proxy.
    await chmod(path, 0o666);
  } else {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  return {
    port: path ? 0 : (server.address() as AddressInfo).port,
    admit: () => admit(passes),
    close: () => close(server, passes),
  };
}

function admit(passes: Map<string, Set<Duplex>>): EgressPass {
  const token = randomBytes(24).toString('base64url');
  const connections = new Set<Duplex>();
  passes.set(token, connections);
  return {
    token,
    revoke() {
      for (const connection of connections) connection.destroy();
      passes.delete(token);
    },
  };
}

async function close(server: Server, passes: Map<string, Set<Duplex>>): Promise<void> {
  for (const connections of passes.values()) for (const connection of connections) connection.destroy();
  passes.clear();
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

interface Desk {
  passes: Map<string, Set<Duplex>>;
  dial(target: DialTarget): Promise<Socket>;
}

/** Returns the connections of the pass that a request presents, or null. */
function pass(incoming: IncomingMessage, passes: Desk['passes']): Set<Duplex> | null {
  const [scheme, credentials = ''] = (incoming.headers['proxy-authorization'] ?? '').split(' ');
  const [, token = ''] = scheme?.toLowerCase() === 'basic' ? Buffer.from(credentials, 'base64').toString().split(':') : [];
  return passes.get(token) ?? null;
}

/** False if the pass has reached its connection limit. */
function hold(connections: Set<Duplex>, connection: Duplex): boolean {
  if (connections.has(connection)) return true;
  if (connections.size >= CONNECTIONS_PER_PASS) return false;
  connections.add(connection);
  connection.once('close', () => connections.delete(connection));
  return true;
}

interface Refusal {
  status: number;
  text: string;
}

const NO_PASS: Refusal = { status: 407, text: 'This proxy is for tools that may use the network' };
const TOO_MANY: Refusal = { status: 429, text: 'Too many connections at once' };

function proxyRefusal(reason: unknown): Refusal {
  if (reason instanceof EgressDenied) return { status: 403, text: reason.message };
  return { status: 502, text: `The connection could not be made: ${(reason as NodeJS.ErrnoException).code ?? 'failed'}` };
}

/** Serves `CONNECT host:port`, for TLS and everything else. */
async function tunnel(incoming: IncomingMessage, client: Duplex, { passes, dial, head }: Desk & { head: Buffer }): Promise<void> {
  client.on('error', () => {});
  const refuse = ({ status, text }: Refusal) =>
    client.end(
      `HTTP/1.1 ${status} ${text}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  const connections = pass(incoming, passes);
  if (!connections) return void refuse(NO_PASS);
  if (!hold(connections, client)) return void refuse(TOO_MANY);
  try {
    const { hostname, port } = new URL(`tcp://${incoming.url}`);
    const upstream = await dial({ hostname, port: Number(port) || 443 });
    if (client.destroyed) return void upstream.destroy();
    client.write('HTTP/1.1 200 Connected\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    join(client, upstream);
  } catch (reason) {
    refuse(proxyRefusal(reason));
  }
}

function join(client: Duplex, upstream: Socket): void {
  upstream.on('error', () => client.destroy());
  upstream.setTimeout(IDLE_MS, () => upstream.destroy());
  upstream.on('close', () => client.destroy());
  client.on('close', () => upstream.destroy());
  upstream.pipe(client);
  client.pipe(upstream);
}

/** Serves `GET http://host/path`, the proxy form of plain HTTP. */
async function relay(incoming: IncomingMessage, outgoing: ServerResponse, { passes, dial }: Desk): Promise<void> {
  const refuse = ({ status, text }: Refusal) => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(status, text, { 'content-type': 'text/plain', connection: 'close' }).end(text);
  };
  const connections = pass(incoming, passes);
  if (!connections) return refuse(NO_PASS);
  if (!hold(connections, incoming.socket)) return refuse(TOO_MANY);
  try {
    const url = new URL(incoming.url!);
    if (url.protocol !== 'http:') return refuse({ status: 400, text: 'Only http:// addresses are asked for this way' });
    const socket = await dial({ hostname: url.hostname, port: Number(url.port) || 80 });
    if (outgoing.destroyed) return void socket.destroy();
    const headers = Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.has(name));
    const upstream = request({
      createConnection: () => socket,
      method: incoming.method!,
      path: url.pathname + url.search,
      headers: { ...Object.fromEntries(headers), host: url.host },
      timeout: IDLE_MS,
    });
    upstream.on('timeout', () => upstream.destroy());
    upstream.on('error', (reason) => refuse(proxyRefusal(reason)));
    // If the answer breaks off, so does what the client gets.
    upstream.on('response', (answer) => pipeline(answer, outgoing.writeHead(answer.statusCode!, answer.headers), () => {}));
    outgoing.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  } catch (reason) {
    refuse(proxyRefusal(reason));
  }
}
