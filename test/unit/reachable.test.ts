import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openConnection } from '../../src/store/database/reachable.ts';

/** Nothing listens on port 1, and there are no such folders. */
it.each([
  ['postgres://u@127.0.0.1:1/d', /^Postgres at 127\.0\.0\.1:1, database d, cannot be used \(DATABASE_URL\): .*ECONNREFUSED/],
  ['postgres:///d?host=/nowhere', /^Postgres at \/nowhere:5432, database d, cannot be used .*ENOENT/],
  ['/nowhere d', /^Postgres at its socket cannot be used .*ENOENT/],
])('a database that cannot be reached is named by its address: %s', async (url, sentence) => {
  await expect(openConnection(url, 'perdura test')).rejects.toThrow(sentence);
});

it('the setting that has the address is named', async () => {
  const connecting = openConnection('postgres://u@127.0.0.1:1/d', 'perdura test', { setting: 'DATABASE_DIRECT_URL' });
  await expect(connecting).rejects.toThrow('cannot be used (DATABASE_DIRECT_URL): ');
});

it('a database that none of several addresses leads to is named with the answer of each', async () => {
  // What a name with two addresses leads to, where the machine has none.
  const addresses = [
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.2', family: 4 },
  ];
  vi.spyOn(dns, 'lookup').mockImplementation(((_name: string, _options: object, done: (error: null, found: object) => void) =>
    done(null, addresses)) as never);
  onTestFinished(() => void vi.restoreAllMocks());
  await expect(openConnection('postgres://u@several.test:1/d', 'perdura test')).rejects.toThrow(
    /: connect ECONNREFUSED 127\.0\.0\.1:1; connect ECONNREFUSED 127\.0\.0\.2:1$/,
  );
});

it('a database without TLS is named with that answer, which has no code', async () => {
  const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.write('N'))).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await expect(openConnection(`postgres://u@127.0.0.1:${port}/d?sslmode=require`, 'perdura test')).rejects.toThrow(
    /cannot be used \(DATABASE_URL\): The server does not support SSL connections$/,
  );
});
