import { afterEach, expect, it } from 'vitest';
import { clientOf } from '../support/client.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { someOf } from '../support/some-of.ts';

let here: TestInstallation;
let lines: string[];
let tokens = 0;
afterEach(() => here.stop());

const FIRST = '203.0.113.1';
const SECOND = '203.0.113.2';
const PER_MINUTE = 5;

async function start(TRUST_PROXY: string): Promise<void> {
  lines = [];
  const limits = { SIGN_IN_FAILURES_PER_MINUTE: '2', RATE_LIMIT_PER_MINUTE: String(PER_MINUTE) };
  const env = { ...limits, LOG_LEVEL: 'info', TRUST_PROXY };
  here = await startTestInstallation({ worker: false, env, log: (line) => lines.push(line) });
}

/** Fails to sign in with a token that was not tried before, as a client whose request says that it was forwarded for these addresses. */
const failFor = async (forwarded: string) =>
  (await here.anonymous.get('/api/me', { authorization: `Bearer wrong-${++tokens}`, 'x-forwarded-for': forwarded })).status;

const loggedAddresses = () =>
  new Set(lines.flatMap((line) => /"remoteAddress":"([^"]+)"/.exec(line)?.[1]?.replace('::ffff:', '') ?? []));

/** Each caller has a separate rate limit, whatever address they share or change. */
async function expectLimitsOfCallers(): Promise<void> {
  const send = (token: string, address: string) => clientOf(here.url, token).get('/api/me', { 'x-forwarded-for': address });
  const statuses = [];
  for (let n = 1; n < PER_MINUTE; n += 1) statuses.push((await send(ALICE, FIRST)).status);
  // Alice's last request comes from another address; Bob sends all of his from the one that she used before.
  for (const token of [ALICE, BOB, BOB, BOB, BOB, BOB])
    statuses.push((await send(token, token === ALICE ? SECOND : FIRST)).status);
  expect(statuses).toEqual(Array(2 * PER_MINUTE).fill(200));
  const beyond = [await send(ALICE, FIRST), await send(ALICE, SECOND), await send(BOB, FIRST), await send(BOB, SECOND)];
  expect(beyond.map(({ status, body }) => [status, body.code])).toEqual(beyond.map(() => [429, 'rate_limited']));
  for (const { headers } of beyond) {
    const wait_s = Number(headers.get('retry-after'));
    expect([wait_s > 0, wait_s <= 60]).toEqual([true, true]);
  }
}

it('without TRUST_PROXY a forged X-Forwarded-For changes neither the counted nor the logged address', async () => {
  await start('');
  await expectLimitsOfCallers();
  const statuses = [];
  for (const forged of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) statuses.push(await failFor(forged));
  expect(statuses).toEqual([401, 401, 429]);
  expect(loggedAddresses()).toEqual(new Set(['127.0.0.1']));
});

it.each(someOf(['1', '127.0.0.1'], 2))('with TRUST_PROXY=%s each client has the address that the proxy saw', async (trusted) => {
  await start(trusted);
  await expectLimitsOfCallers();
  const statuses = [];
  for (const seen of [FIRST, FIRST, SECOND, FIRST]) statuses.push(await failFor(seen));
  expect(statuses).toEqual([401, 401, 401, 429]);
  // What stands before the address that the proxy saw was sent by the client.
  expect(await failFor(`198.51.100.9, ${FIRST}`)).toBe(429);
  expect(loggedAddresses()).toEqual(new Set([FIRST, SECOND]));
});
