import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:tls';
import type { NativeConnection } from '@temporalio/worker';
import { afterEach, expect, inject, it } from 'vitest';
import { openRelayedConnection, startRelay } from '../../src/temporal/engine-relay.ts';
import { startDroppingProxy } from '../support/dropping-proxy.ts';

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

it('leaves encryption to both ends: the certificate is checked against the engine’s own name', { timeout: 60_000 }, async () => {
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
  const [host = '', port] = inject('temporal_address').split(':');
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert), ALPNProtocols: ['h2'] }, (secure) => {
    const engine = connect(Number(port), host);
    for (const socket of [secure, engine]) socket.on('error', () => {});
    secure.on('close', () => engine.destroy());
    secure.pipe(engine).pipe(secure);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  endings.push(() => void server.close());
  const address = `localhost:${(server.address() as AddressInfo).port}`;
  const trusted = { serverRootCACertificate: readFileSync(cert) };
  const { connection } = await relayed({ address, tls: trusted });
  expect(await answered(connection)).toBeTruthy();
  const misnamed = { ...trusted, serverNameOverride: 'another.example' };
  await expect(openRelayedConnection({ options: { address, tls: misnamed }, log: () => {} })).rejects.toThrow();
});
