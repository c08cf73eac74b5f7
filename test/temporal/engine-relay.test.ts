import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http2, { type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:tls';
import type { NativeConnection } from '@temporalio/worker';
import { afterEach, expect, inject, it } from 'vitest';
import { isOnThisMachine, openRelayedConnection, startRelay } from '../../src/temporal/client/engine-relay.ts';
import { startTestInstallation } from '../support/installation.ts';
import { freePort, startWorkerProcess } from '../support/machine/processes.ts';
import { outerAddress, startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { says } from '../support/peers/model-server.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const proxied = async () => {
  const proxy = await startDroppingProxy(`http://${inject('temporal_address')}`);
  endings.push(() => proxy.stop());
  return proxy;
};

/** Shorter than the client library takes to notice by itself that its connection is silent. */
const LIMIT_MS = 25_000;
const answered = (connection: NativeConnection) =>
  connection.withDeadline(Date.now() + LIMIT_MS, async () => (await connection.workflowService.getSystemInfo({})).serverVersion);

async function relayed(options: Parameters<typeof openRelayedConnection>[0]['options']) {
  const logged: string[] = [];
  const it = await openRelayedConnection({ options, log: (line) => logged.push(line) });
  endings.push(() => it.close());
  return { connection: it.connection, logged };
}

it('replaces a silent connection, and repeats what was not answered on it', { timeout: 60_000 }, async () => {
  const proxy = await proxied();
  const { connection, logged } = await relayed({ address: new URL(proxy.url).host });
  expect(await answered(connection)).toBeTruthy();
  proxy.silence();
  expect(await answered(connection)).toBeTruthy();
  expect(logged).toEqual(['The connection to the workflow engine is silent, connecting again']);
});

it('keeps its connection to an engine that does not answer on a new one either', { timeout: 60_000 }, async () => {
  const proxy = await proxied();
  const { connection, logged } = await relayed({ address: new URL(proxy.url).host });
  proxy.silence({ fresh: true });
  const waits = answered(connection);
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  proxy.speak();
  expect(await waits).toBeTruthy();
  expect(logged).toEqual([]);
});

it('serves nobody without its password', async () => {
  const relay = await startRelay(inject('temporal_address'));
  endings.push(() => relay.close());
  const stranger = connect(Number(relay.proxy.targetHost.split(':')[1]), '127.0.0.1');
  stranger.write('CONNECT engine:7233 HTTP/1.1\r\nHost: engine:7233\r\n\r\n');
  expect((await text(stranger)).split('\r\n')[0]).toBe('HTTP/1.1 407 Proxy Authentication Required');
});

it('is not needed on this machine, whichever way that is written', () => {
  const here = ['localhost', 'localhost:7233', '127.0.0.1:7233', '127.8.0.1', '[::1]:7233', 'LOCALHOST:1'];
  const elsewhere = [
    'temporal:7233',
    '10.0.0.7',
    '127.example.com:7233',
    'localhost.example.com',
    'mylocalhost',
    '[2001:db8::1]:7233',
  ];
  expect(here.filter((address) => !isOnThisMachine(address))).toEqual([]);
  expect(elsewhere.filter(isOnThisMachine)).toEqual([]);
});

it('a worker whose Temporal is on another machine replaces a silent connection by default', { timeout: 60_000 }, async (test) => {
  const host = outerAddress();
  if (!host) return test.skip('this machine has no address besides loopback');
  const proxy = await startDroppingProxy(`http://${inject('temporal_address')}`, host);
  endings.push(() => proxy.stop());
  const here = await startTestInstallation({ worker: false });
  endings.push(() => here.stop());
  const worker = await startWorkerProcess({ ...here.setting, temporal_address: new URL(proxy.url).host });
  endings.push(() => worker.end('SIGKILL'));
  proxy.silence();
  await worker.prints(/The connection to the workflow engine is silent, connecting again/, 30_000);
  here.model.script(says('Done.'));
  expect((await here.ended(await here.prompt(await here.workflow()), 30_000)).status).toBe('completed');
});

it('reports why the engine cannot be reached', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const fails = openRelayedConnection({ options: { address }, log: () => {} });
  await expect(fails).rejects.toThrow(`connect ECONNREFUSED ${address}`);
});

/** A certificate for `localhost`, and its key. */
function certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'perdura-relay-'));
  endings.push(() => rmSync(folder, { recursive: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = [
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  ];
  const made = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', ...made, '-keyout', key, '-out', cert, ...names], { stdio: 'pipe' });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

const [host = '', port] = inject('temporal_address').split(':');
async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => void server.close());
  return `localhost:${(server.address() as AddressInfo).port}`;
}

it('leaves encryption to both ends: the certificate is checked against the engine’s own name', { timeout: 60_000 }, async () => {
  const { key, cert } = certificate();
  const server = createServer({ key, cert, ALPNProtocols: ['h2'] }, (secure) => {
    const engine = connect(Number(port), host);
    for (const socket of [secure, engine]) socket.on('error', () => {});
    secure.on('close', () => engine.destroy());
    secure.pipe(engine).pipe(secure);
  });
  const address = await listening(server);
  const trusted = { serverRootCACertificate: cert };
  const { connection } = await relayed({ address, tls: trusted });
  expect(await answered(connection)).toBeTruthy();
  const misnamed = { ...trusted, serverNameOverride: 'another.example' };
  await expect(openRelayedConnection({ options: { address, tls: misnamed }, log: () => {} })).rejects.toThrow();
});

it('passes an API key on within the encryption', { timeout: 60_000 }, async () => {
  const { key, cert } = certificate();
  const engine = http2.connect(`http://${host}:${port}`);
  endings.push(() => engine.close());
  const keys = new Set<unknown>();
  const server = http2.createSecureServer({ key, cert });
  server.on('stream', (stream: ServerHttp2Stream, { ':authority': _, ...headers }) => {
    keys.add(headers.authorization);
    const asked = engine.request(headers);
    asked.on('response', (answer) => stream.respond(answer, { waitForTrailers: true }));
    let trailers = {};
    asked.on('trailers', (received) => {
      trailers = received;
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.pipe(asked).pipe(stream);
  });
  const tls = { serverRootCACertificate: cert };
  const { connection } = await relayed({ address: await listening(server), tls, apiKey: 'the-key' });
  expect(await answered(connection)).toBeTruthy();
  expect([...keys]).toEqual(['Bearer the-key']);
});
