import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { nameTo } from '../contract/faulty-names.ts';

/** The ways in which a peer fails, on the network or in its own protocol. */
export type PeerFault =
  /** Its port is closed. */
  | { at: 'port' }
  /** It resets every connection. */
  | { at: 'socket' }
  /** It sends nothing on any connection, but accepts new ones. Data that was sent to it arrives once it serves again. */
  | { at: 'silence' }
  /** It closes each connection in the middle of its next answer. */
  | { at: 'middle' }
  /** The lookup of its name fails with this code. */
  | { at: 'name'; code: 'ENOTFOUND' | 'EAI_AGAIN' }
  /** It uses TLS if plain text is expected, or plain text if TLS is. */
  | { at: 'protocol' }
  /** It answers everything in this way. */
  | { at: 'answer'; by: Answering };

/** Takes over the connections of clients. */
export type Answering = (client: Socket) => void;

export interface FaultyPeer {
  /** Its own name; `port` is its port. */
  host: string;
  /** Makes the peer fail; null: it serves. */
  fail(fault: PeerFault | null): Promise<void>;
  /** Returns how often a fault has affected a client since it began. Clients that find the port closed are not counted. */
  hits(): number;
  stop(): Promise<void>;
}

/** A TLS alert: the server does not support the version. */
const ALERT = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]);
const PLAIN = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

interface Pair {
  client: Socket;
  upstream: Socket;
}

interface PeerOptions {
  name: string;
  /** `host:port` of the real server. */
  target: string;
  /** Set if clients connect by TLS. */
  tls?: { cert: Buffer; key: Buffer };
}

/** Starts a proxy in front of a server that fails as that one would. */
export async function startFaultyPeer({ name, target, tls }: PeerOptions): Promise<FaultyPeer> {
  const { hostname, port } = new URL(`tcp://${target}`);
  const pairs = new Set<Pair>();
  const held = new Set<Socket>();
  let fault: PeerFault | null = null;
  let hits = 0;
  const hit = () => {
    hits += 1;
  };
  const secured = (raw: Socket, with_: NonNullable<typeof tls>) =>
    new TLSSocket(raw, { isServer: true, ALPNProtocols: ['h2', 'http/1.1'], secureContext: createSecureContext(with_) });

  function join(raw: Socket): void {
    const client = tls ? secured(raw, tls) : raw;
    const upstream = connect({ host: hostname, port: Number(port), noDelay: true });
    const pair = { client, upstream };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk: Buffer) => {
      if (fault?.at !== 'middle') return void client.write(chunk);
      hit();
      client.end(chunk.subarray(0, chunk.length / 2));
    });
  }

  function receive(client: Socket): void {
    client.on('error', () => {});
    if (!fault || fault.at === 'middle') {
      join(client);
      return;
    }
    hit();
    held.add(client);
    client.on('close', () => held.delete(client));
    if (fault.at === 'silence') return;
    if (fault.at === 'protocol') client.once('data', () => client.end(tls ? PLAIN : ALERT));
    else if (fault.at === 'answer') fault.by(client);
    else client.resetAndDestroy();
  }

  const server = createServer({ noDelay: true }, receive);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = (server.address() as AddressInfo).port;
  const refusal = () => {
    if (fault?.at !== 'name') return null;
    hit();
    return fault.code;
  };
  // The system itself resolves the name in the certificate.
  const restoreNames = tls ? () => {} : nameTo(name, refusal);
  const breakAll = () => {
    for (const { client } of pairs) {
      if (fault?.at === 'socket' && !tls) client.resetAndDestroy();
      else client.destroy();
    }
    for (const client of held) client.destroy();
  };
  const sockets = () => [...pairs].flatMap(({ client, upstream }) => [client, upstream]);
  const speak = () => {
    for (const socket of sockets()) socket.resume();
    for (const client of held) {
      held.delete(client);
      join(client);
    }
  };
  const close = async () => {
    server.close();
    breakAll();
    await once(server, 'close');
  };

  return {
    host: `${name}:${own}`,
    hits: () => hits,
    async fail(next) {
      const last = fault;
      fault = next;
      hits = 0;
      if (next === null && last?.at === 'silence') speak();
      else if (last) breakAll();
      if (last?.at === 'port') {
        server.listen(own, '127.0.0.1');
        await once(server, 'listening');
      }
      if (next?.at === 'port') await close();
      else if (next?.at === 'silence') for (const socket of sockets()) socket.pause();
      else if (next && next.at !== 'middle') breakAll();
    },
    async stop() {
      restoreNames();
      if (server.listening) await close();
    },
  };
}

/** Answers every gRPC call with a status. */
export function grpcStatus(status: number, message = 'said by the test'): Answering {
  const server = createHttp2Server();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    const trailers = { 'grpc-status': String(status), 'grpc-message': message };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...trailers }, { endStream: true });
  });
  server.on('sessionError', () => {});
  return (client) => void server.emit('connection', client);
}

/** Answers every request like an object store that refuses it. */
export function s3Refusal(status: number, code: string): Answering {
  const server = createHttpServer((request, response) => {
    request.resume();
    const body = `<Error><Code>${code}</Code></Error>`;
    request.on('end', () => response.writeHead(status, { 'content-type': 'application/xml' }).end(body));
  });
  return (client) => void server.emit('connection', client);
}

/** Answers every command of Redis with an error. */
export const redisError =
  (text: string): Answering =>
  (client) =>
    void client.on('data', (chunk: Buffer) => {
      const commands = chunk.toString('latin1').match(/(?:^|\r\n)\*\d+/g)?.length ?? 1;
      client.write(`-${text}\r\n`.repeat(commands));
    });
