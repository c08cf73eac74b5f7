import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, type TlsOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { redisBus } from '../../src/events/redis-bus.ts';
import { openConnection } from '../../src/store/database/reachable.ts';
import { type TestDatabase, testDatabase } from '../support/database/database.ts';
import { asOperator } from '../support/database/operator.ts';
import { startTestInstallation } from '../support/installation.ts';
import { childOf, freePort, perdura } from '../support/machine/processes.ts';
import { type Certificates, makeCertificates } from '../support/peers/certificates.ts';
import { says } from '../support/peers/model-server.ts';
import { redisIsInstalled } from '../support/peers/redis.ts';
import { until } from '../support/until.ts';

let tls: Certificates;
let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  await asOperator(database.url, async (operator) => {
    const { rows } = await operator.query<{ data_directory: string }>('SHOW data_directory');
    tls = makeCertificates(await stat(rows[0]!.data_directory));
    await operator.query(`ALTER SYSTEM SET ssl_cert_file = '${tls.cert}'`);
    await operator.query(`ALTER SYSTEM SET ssl_key_file = '${tls.key}'`);
    await operator.query('ALTER SYSTEM SET ssl = on');
    await operator.query('SELECT pg_reload_conf()');
  });
  await until('Postgres offers TLS', () =>
    asOperator(database.url, async (operator) => (await operator.query('SHOW ssl')).rows[0].ssl === 'on'),
  );
});
afterAll(async () => {
  await asOperator(database.url, async (operator) => {
    for (const name of ['ssl', 'ssl_cert_file', 'ssl_key_file']) await operator.query(`ALTER SYSTEM RESET ${name}`);
    await operator.query('SELECT pg_reload_conf()');
  });
  await database.drop();
  tls?.remove();
});

describe('Postgres with sslmode=verify-full', () => {
  const at = (host: string, ca: string): string => {
    const url = new URL(database.url);
    url.hostname = host;
    url.searchParams.set('sslmode', 'verify-full');
    url.searchParams.set('sslrootcert', ca);
    return url.href;
  };

  it('carries every connection of a run within TLS', async () => {
    const here = await startTestInstallation({ setting: { database_url: at('localhost', tls.ca) } });
    here.model.script(says('Within TLS.'));
    const task = await here.ended(await here.prompt(await here.workflow()));
    expect(task).toMatchObject({ status: 'completed', response: 'Within TLS.' });
    const used = await asOperator(database.url, (operator) =>
      operator.query(
        `SELECT DISTINCT a.application_name, s.ssl FROM pg_stat_activity a JOIN pg_stat_ssl s USING (pid)
          WHERE a.datname = current_database() AND a.application_name ~ '^perdura' ORDER BY 1`,
      ),
    );
    expect(used.rows).toEqual([
      { application_name: 'perdura', ssl: true },
      { application_name: 'perdura events', ssl: true },
    ]);
    await here.stop();
  });

  it.each([
    ['an authority that did not sign the server', () => at('localhost', tls.other_ca), /certificate.*; sslrootcert in its URL/],
    ['another name', () => at('127.0.0.1', tls.ca), /Host: 127\.0\.0\.1\. is not|IP: 127\.0\.0\.1 is not/],
    ['a file of certificates that is missing', () => at('localhost', '/nowhere.pem'), /ENOENT.*\/nowhere\.pem/],
  ])('is refused in one sentence with %s', async (_, url, reason) => {
    const refusal: Error = await openConnection(url(), 'perdura test').then(
      (client) => client.end().then(() => new Error('was accepted')),
      (error) => error,
    );
    expect(refusal.message).toMatch(/^Postgres at \S+:\d+, database \w+, cannot be used \(DATABASE_URL\): [^\n]+$/);
    expect(refusal.message).toMatch(reason);
  });
});

describe.skipIf(!redisIsInstalled())('Redis with TLS and a password', () => {
  it('answers if the authority is trusted and the password is right', async () => {
    const port = await freePort();
    const files = [
      '--tls-cert-file',
      tls.cert,
      '--tls-key-file',
      tls.key,
      '--tls-ca-cert-file',
      tls.ca,
      '--tls-auth-clients',
      'no',
    ];
    const flags = [
      '--port',
      '0',
      '--tls-port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--requirepass',
      'the-password',
    ];
    const server = childOf(spawn('redis-server', [...flags, ...files], { stdio: ['ignore', 'pipe', 'pipe'] }));
    await server.prints(/Ready to accept connections/);
    const ping = async (password: string) => {
      const bus = redisBus({ url: `rediss://:${password}@localhost:${port}`, log: () => {} });
      const opened = until(
        'Redis answers',
        () =>
          bus.ping().then(
            () => true,
            () => false,
          ),
        3_000,
      );
      const answered = await opened.then(
        () => true,
        () => false,
      );
      await bus.close();
      return answered;
    };
    const known = getCACertificates('default');
    expect(await ping('the-password')).toBe(false);
    // As NODE_EXTRA_CA_CERTS does at the start of a process.
    setDefaultCACertificates([...known, readFileSync(tls.ca, 'utf8')]);
    expect(await ping('the-password')).toBe(true);
    expect(await ping('another')).toBe(false);
    setDefaultCACertificates(known);
    await server.end('SIGTERM');
  });
});

/** Temporal behind TLS that asks clients for a certificate. */
async function temporalWithTls(options: TlsOptions): Promise<{ address: string; stop(): void }> {
  const [host, port] = inject('temporal_address').split(':');
  const server = createServer({ ...options, ALPNProtocols: ['h2'], requestCert: true, rejectUnauthorized: true }, (client) => {
    const upstream = connect({ host, port: Number(port) });
    for (const socket of [client, upstream]) socket.on('error', () => client.destroy() && upstream.destroy());
    client.pipe(upstream).pipe(client);
  });
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { address: `localhost:${(server.address() as AddressInfo).port}`, stop: () => void server.close() };
}

it('Temporal is reached with an authority and a client certificate of the standard variables', { timeout: 60_000 }, async () => {
  const read = (path: string) => readFileSync(path, 'utf8');
  const temporal = await temporalWithTls({ cert: read(tls.cert), key: read(tls.key), ca: read(tls.ca) });
  const migrate = perdura('migrate', {
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_TLS: 'true',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: tls.ca,
    TEMPORAL_TLS_CLIENT_CERT_PATH: tls.cert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: tls.key,
  });
  await migrate.closed;
  expect(migrate.output()).toMatch(/^Nothing to apply\n/);
  expect(migrate.output()).not.toContain('is not prepared');
  temporal.stop();
});

/** An engine that refuses every call, and keeps who called. */
async function refusingEngine(options: TlsOptions) {
  const calls: IncomingHttpHeaders[] = [];
  const server = createSecureServer(options);
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    calls.push(headers);
    const refusal = { 'grpc-status': '7', 'grpc-message': 'this key may not' };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...refusal }, { endStream: true });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { calls, address: `localhost:${(server.address() as AddressInfo).port}`, stop: () => void server.close() };
}

it('Temporal gets the API key and the namespace of the standard variables', { timeout: 60_000 }, async () => {
  const engine = await refusingEngine({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) });
  const { url, drop } = await testDatabase();
  const env = {
    DATABASE_URL: url,
    TEMPORAL_ADDRESS: engine.address,
    TEMPORAL_NAMESPACE: 'ns.acct',
    TEMPORAL_API_KEY: 'the-key',
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: tls.ca,
  };
  const keys = `k:${Buffer.alloc(32).toString('base64')}`;
  const [migrate, worker] = ['migrate', 'worker'].map((command) => perdura(command, { ...env, ENCRYPTION_KEYS: keys }));
  for (const child of [migrate!, worker!]) {
    await child.closed;
    expect(child.output()).toContain('this key may not');
  }
  expect(new Set(engine.calls.map((headers) => headers.authorization))).toEqual(new Set(['Bearer the-key']));
  // Not that of the worker: the first thing that it asks for is of the whole server.
  expect(engine.calls.map((headers) => headers['temporal-namespace'])).toContain('ns.acct');
  engine.stop();
  await drop();
});
