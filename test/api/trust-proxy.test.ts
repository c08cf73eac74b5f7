import { afterEach, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let lines: string[];
let tokens = 0;
afterEach(() => here.stop());

async function start(TRUST_PROXY: string): Promise<void> {
  lines = [];
  const env = { SIGN_IN_FAILURES_PER_MINUTE: '2', LOG_LEVEL: 'info', TRUST_PROXY };
  here = await startTestInstallation({ worker: false, env, log: (line) => lines.push(line) });
}

/** Fails to sign in with a token that was not tried before, as a client whose request says that it was forwarded for these addresses. */
const failFor = async (forwarded: string) =>
  (await here.anonymous.get('/api/me', { authorization: `Bearer wrong-${++tokens}`, 'x-forwarded-for': forwarded })).status;

const loggedAddresses = () =>
  new Set(lines.flatMap((line) => /"remoteAddress":"([^"]+)"/.exec(line)?.[1]?.replace('::ffff:', '') ?? []));

it('without TRUST_PROXY a forged X-Forwarded-For changes neither the counted nor the logged address', async () => {
  await start('');
  const statuses = [];
  for (const forged of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) statuses.push(await failFor(forged));
  expect(statuses).toEqual([401, 401, 429]);
  expect(loggedAddresses()).toEqual(new Set(['127.0.0.1']));
});

it.each(['1', '127.0.0.1'])('with TRUST_PROXY=%s each client has the address that the proxy saw', async (trusted) => {
  await start(trusted);
  const statuses = [];
  for (const seen of ['203.0.113.1', '203.0.113.1', '203.0.113.2', '203.0.113.1']) statuses.push(await failFor(seen));
  expect(statuses).toEqual([401, 401, 401, 429]);
  // What stands before the address that the proxy saw was sent by the client.
  expect(await failFor('198.51.100.9, 203.0.113.1')).toBe(429);
  expect(loggedAddresses()).toEqual(new Set(['203.0.113.1', '203.0.113.2']));
});
