import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { getReason } from '../../src/domain/reason.ts';
import { createGuardedFetch, isDenied } from '../../src/egress/guarded-fetch.ts';
import { startReceiver } from '../support/peers/receiver.ts';

const denial = async (work: Promise<unknown>) =>
  isDenied(
    await work.then(
      () => null,
      (error: unknown) => error,
    ),
  );

it('reaches what is allowed, and no other private address', async () => {
  const receiver = await startReceiver();
  const { port } = new URL(receiver.url);
  const open = createGuardedFetch([`127.0.0.1:${port}`]);
  const shut = createGuardedFetch([]);
  expect((await open.fetch(receiver.url)).status).toBe(200);
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0177.0.0.1', '2130706433'])
    expect(await denial(shut.fetch(`http://${host}:${port}/`)), host).toBe(true);
  expect(receiver.received).toHaveLength(1);
  await Promise.all([open.close(), shut.close(), receiver.stop()]);
});

it('judges where a redirect leads', async () => {
  const inner = await startReceiver();
  const outer = await startReceiver({ location: inner.url });
  outer.answers(302);
  const guarded = createGuardedFetch([`127.0.0.1:${new URL(outer.url).port}`]);
  expect(await denial(guarded.fetch(outer.url))).toBe(true);
  expect(inner.received).toHaveLength(0);
  await Promise.all([guarded.close(), outer.stop(), inner.stop()]);
});

it('comes past ::1 to a server of localhost that knows IPv4 alone', async () => {
  const receiver = await startReceiver();
  const guarded = createGuardedFetch(['127.0.0.0/8', '::1']);
  expect((await guarded.fetch(`http://localhost:${new URL(receiver.url).port}`)).status).toBe(200);
  await Promise.all([guarded.close(), receiver.stop()]);
});

const SECRETS = {
  authorization: 'Bearer s',
  cookie: 's=1',
  'proxy-authorization': 's',
  'x-api-key': 's',
  'api-key': 's',
  'x-mine': 's',
};

it.each([301, 302, 303, 307, 308])('takes no credential along to another origin at a %i', async (status) => {
  const other = await startReceiver();
  const first = await startReceiver({ location: other.url });
  first.answers(status);
  const guarded = createGuardedFetch(['127.0.0.1']);
  expect((await guarded.fetch(first.url, { headers: { ...SECRETS, accept: 'text/plain' } })).status).toBe(200);
  expect(first.received[0]?.headers).toMatchObject({ authorization: 'Bearer s', 'x-api-key': 's' });
  for (const name of Object.keys(SECRETS)) expect(other.received[0]?.headers, name).not.toHaveProperty(name);
  expect(other.received[0]?.headers.accept).toBe('text/plain');
  await Promise.all([guarded.close(), other.stop(), first.stop()]);
});

it('sends a body to no other origin', async () => {
  const other = await startReceiver();
  const first = await startReceiver({ location: other.url });
  first.answers(307);
  const guarded = createGuardedFetch(['127.0.0.1']);
  const sent = guarded.fetch(first.url, { method: 'POST', body: 'secret' });
  await expect(sent.catch((error: Error) => Promise.reject(error.cause))).rejects.toThrow('not followed with a body');
  expect(other.received).toHaveLength(0);
  await Promise.all([guarded.close(), other.stop(), first.stop()]);
});

it.each([
  ['http://127.0.0.1/', 80],
  ['https://127.0.0.1/', 443],
  ['http://127.0.0.1:81/', 81],
  ['https://127.0.0.1:80/', 80],
])('%s is asked at port %i', async (address, port) => {
  // A port of Perdura itself is denied by its number, before anything is dialled.
  const guarded = createGuardedFetch(['127.0.0.1'], new Set([port]));
  const error = await guarded.fetch(address).catch((reason: unknown) => reason);
  expect(getReason(error)).toContain(`Connections to 127.0.0.1:${port} are not allowed from here: the port belongs to Perdura`);
  await guarded.close();
});

it.each([
  ['localhost', ['localhost']],
  ['127.0.0.1', []],
])('names a host to a server over TLS, and no address: %s', async (host, names) => {
  const asked: string[] = [];
  const server = createServer({
    SNICallback(name, done) {
      asked.push(name);
      done(new Error('no certificate'));
    },
  });
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const guarded = createGuardedFetch(['127.0.0.0/8', '::1']);
  await expect(guarded.fetch(`https://${host}:${(server.address() as AddressInfo).port}/`)).rejects.toThrow();
  expect(asked).toEqual(names);
  await guarded.close();
});
