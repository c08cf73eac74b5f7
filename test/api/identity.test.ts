import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { AppError } from '../../src/domain/errors.ts';
import { createCachedIdentity } from '../../src/identity/cached-identity.ts';
import { codeHostIdentity, localIdentity } from '../../src/identity/providers.ts';
import { withServiceKeys } from '../../src/identity/service-keys.ts';
import { clientOf } from '../support/client.ts';
import { startTestInstallation } from '../support/installation.ts';

type CodeHost = 'github' | 'gitlab' | 'gitea';
type Answer = [status: number, headers?: Record<string, string>, body?: string];

/** A code host that knows one token. `refusal` is its whole answer to everybody, `blocked` only the status of one. */
async function codeHost(provider: CodeHost = 'github', now = () => performance.now()) {
  const state: { asked: number; down: boolean; blocked: number | null; refusal: Answer | null } = {
    ...{ asked: 0, down: false, blocked: null, refusal: null },
  };
  const server = createServer(async ({ url, headers }, response) => {
    state.asked += 1;
    await wait(state.blocked || state.refusal ? 0 : 20);
    if (state.refusal) response.writeHead(state.refusal[0], state.refusal[1]).end(state.refusal[2]);
    else if (state.blocked) response.writeHead(state.blocked).end('{"id": 583231, "login": "octocat"}');
    else if (state.down) response.writeHead(502).end();
    else if (url === '/user' && headers.authorization === `${provider === 'gitea' ? 'token' : 'Bearer'} good`)
      response.end('{"id": 583231, "login": "octocat"}');
    else response.writeHead(401).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    state,
    check: codeHostIdentity({ provider, api_url, fetch, now }),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

afterEach(() => void vi.useRealTimers());

describe('an identity', () => {
  it('is what the code host says of the token', async () => {
    await using host = await codeHost();
    expect(await host.check('good')).toEqual({ provider: 'github', subject: '583231', login: 'octocat' });
    expect(await host.check('bad')).toBeNull();
  });

  it('is unknown to the code host after any refusal of the token, and only then', async () => {
    let now = 0;
    await using host = await codeHost('github', () => now);
    for (let status = 300; status < 600; status += 1) {
      now += 60_000;
      // `fetch` itself fails at 407, which is for proxies.
      if (status === 407) continue;
      host.state.blocked = status;
      const seen = await host.check('good').catch(({ message }: Error) => message);
      const refused = status === 401 || status === 403;
      const reason = status === 429 ? 'is limiting requests; try again in 60 s' : `answered ${status}`;
      expect(seen, String(status)).toBe(refused ? null : `The identity provider github ${reason}`);
    }
  });

  const NOW_S = Date.parse('2026-12-01T00:00:00Z') / 1_000;
  const inSeconds = (seconds: number) => String(NOW_S + seconds);
  /** Refusals because of a limit, and the wait that each leads to; the last two are refusals of the token. */
  const LIMITS: [name: string, answer: () => Answer, wait_s: number | null][] = [
    ['403 with Retry-After', () => [403, { 'retry-after': '37' }, '{"message":"Forbidden"}'], 37],
    ['403 with a used-up count', () => [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inSeconds(113) }], 113],
    [
      '403 with a count that is used up until tomorrow',
      () => [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inSeconds(90_000) }],
      3_600,
    ],
    [
      '403 with a count that begins again now',
      () => [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inSeconds(-5) }],
      1,
    ],
    [
      '403 of a secondary limit',
      () => [
        403,
        { 'x-ratelimit-remaining': '4711', 'x-ratelimit-reset': inSeconds(113) },
        '{"message":"You have exceeded a secondary rate limit."}',
      ],
      60,
    ],
    ['403 after many invalid tokens', () => [403, {}, '{"message":"Maximum number of login attempts exceeded."}'], 60],
    ['429 with a count of GitLab', () => [429, { 'ratelimit-remaining': '0', 'ratelimit-reset': inSeconds(53) }], 53],
    ['429 with Retry-After as a date', () => [429, { 'retry-after': new Date((NOW_S + 91) * 1_000).toUTCString() }], 91],
    ['429 with nothing', () => [429], 60],
    [
      '403 with requests left',
      () => [403, { 'x-ratelimit-remaining': '1' }, '{"message":"Resource protected by organization SAML"}'],
      null,
    ],
    ['401 with a used-up count', () => [401, { 'x-ratelimit-remaining': '0', 'retry-after': '37' }], null],
  ];
  it.each((['github', 'gitlab', 'gitea'] as const).flatMap((provider) => LIMITS.map((limit) => [provider, ...limit] as const)))(
    'at %s, after %s, is unknown only if the answer is about the token, and not about a limit',
    async (provider, _name, answer, wait_s) => {
      let now = 0;
      await using host = await codeHost(provider, () => now);
      vi.useFakeTimers({ toFake: ['Date'], now: NOW_S * 1_000 });
      const identify = createCachedIdentity([host.check], { now: () => now });
      await identify('good');
      host.state.refusal = answer();
      now = 6 * 60_000;
      const outcome = (token: string) => identify(token).catch((error: AppError) => error);
      if (wait_s === null) return expect([await outcome('good'), await outcome('unseen')]).toEqual([null, null]);
      expect(await outcome('good')).toMatchObject({ provider, login: 'octocat' });
      for (const token of ['unseen', 'unseen']) {
        const { kind, code, message, retry_after_s } = (await outcome(token)) as AppError;
        expect({ kind, code, message, retry_after_s }).toEqual({
          kind: 'unavailable',
          code: 'identity_limited',
          message: `The identity provider ${provider} is limiting requests; try again in ${wait_s} s`,
          retry_after_s: wait_s,
        });
      }
      expect(host.state.asked).toBe(2);
      host.state.refusal = null;
      const pause_ms = Math.min(wait_s, 300) * 1_000;
      now += pause_ms - 1;
      expect(await outcome('unseen')).toMatchObject({
        code: 'identity_limited',
        retry_after_s: wait_s <= 300 ? 1 : wait_s - 299,
      });
      expect(await outcome('good')).toMatchObject({ provider, login: 'octocat' });
      expect(host.state.asked).toBe(2);
      now += 1;
      expect(await outcome('unseen')).toBeNull();
    },
  );

  it('whose own limit is used up refuses nobody else', async () => {
    await using host = await codeHost('github', () => 0);
    const used_up = { 'x-ratelimit-remaining': '0', 'x-ratelimit-limit': '5000', 'retry-after': '37' };
    host.state.refusal = [403, used_up];
    await expect(host.check('spent')).rejects.toMatchObject({ code: 'identity_limited', retry_after_s: 37 });
    host.state.refusal = null;
    expect(await host.check('good')).toMatchObject({ login: 'octocat' });
    // An address without a valid token has this few.
    host.state.refusal = [403, { ...used_up, 'x-ratelimit-limit': '60' }];
    await expect(host.check('random')).rejects.toMatchObject({ code: 'identity_limited' });
    host.state.refusal = null;
    await expect(host.check('other')).rejects.toMatchObject({ code: 'identity_limited' });
  });

  it('that a limit hides is answered with 503 and the time to wait, without asking again until then', async () => {
    let now = 0;
    await using host = await codeHost('github', () => now);
    const here = await startTestInstallation({ worker: false, setting: { identity_providers: [host.check] } });
    try {
      host.state.refusal = [403, { 'retry-after': '37' }];
      for (let attempts = 0; attempts < 5; attempts += 1) {
        const refused = await clientOf(here.url, `good-${attempts}`).get('/api/me');
        expect(refused).toMatchObject({ status: 503, body: { code: 'identity_limited' } });
        expect(refused.headers.get('retry-after')).toBe('37');
      }
      expect(host.state.asked).toBe(1);
      host.state.refusal = null;
      now = 37_000;
      expect(await clientOf(here.url, 'good').get('/api/me')).toMatchObject({ status: 200 });
    } finally {
      await here.stop();
    }
  });

  it.each([401, 403])('ends when its token is blocked with %i, five minutes later at most', async (status) => {
    await using host = await codeHost();
    let now = 0;
    const identify = createCachedIdentity([host.check], { now: () => now });
    expect((await identify('good'))?.login).toBe('octocat');
    host.state.blocked = status;
    now = 5 * 60_000 - 1;
    expect((await identify('good'))?.login).toBe('octocat');
    now = 5 * 60_000;
    expect(await identify('good')).toBeNull();
    expect(await identify('unseen')).toBeNull();
    host.state.blocked = null;
    now += 30_000 - 1;
    expect(await identify('good')).toBeNull();
    now += 1;
    expect((await identify('good'))?.login).toBe('octocat');
  });

  it('is asked for once by many requests at a time, and remembered: longer when valid than when not', async () => {
    await using host = await codeHost();
    let now = 0;
    const identify = createCachedIdentity([host.check], { now: () => now });
    await Promise.all([identify('good'), identify('good'), identify('good')]);
    await identify('bad');
    expect(host.state.asked).toBe(2);
    now = 31_000;
    await Promise.all([identify('good'), identify('bad')]);
    expect(host.state.asked).toBe(3);
    now = 301_000;
    await identify('good');
    expect(host.state.asked).toBe(4);
  });

  it('outlives the provider for an hour, and is not available to strangers meanwhile', async () => {
    await using host = await codeHost();
    let now = 0;
    const identify = createCachedIdentity([host.check], { now: () => now });
    await identify('good');
    host.state.down = true;
    now = 50 * 60_000;
    expect((await identify('good'))?.login).toBe('octocat');
    await expect(identify('unseen')).rejects.toMatchObject({ kind: 'unavailable' });
    now = 61 * 60_000;
    await expect(identify('good')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('of a service key is looked up again after two seconds, and does not count as a sign-in for an hour', async () => {
    let [now, asked, valid] = [0, 0, true];
    const people = createCachedIdentity([() => Promise.reject(new Error('a provider was asked'))]);
    const found = { id: 'k', owner: 'github:a:b', owner_login: 'a', role: 'editor', scopes: ['read'], expires_at: null } as const;
    const look = async () => {
      asked += 1;
      return valid ? found : null;
    };
    const identify = withServiceKeys(people, { findKey: look, claimedRole: async () => null, now: () => now });
    const key = `pk_${'x'.repeat(54)}`;
    expect(await identify(key)).toMatchObject({ provider: 'github', subject: 'a:b', service_key: { id: 'k' } });
    await identify(key);
    expect(asked).toBe(1);
    valid = false;
    now = 2_001;
    expect(identify.knows(key)).toBe(true);
    expect(await identify(key)).toBeNull();
    now = 4_002;
    expect(identify.knows(key)).toBe(false);
    await expect(identify('pk_too-short')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('may come from any of several providers', async () => {
    await using host = await codeHost();
    const identify = createCachedIdentity([localIdentity([{ login: 'me', token: 'local' }]), host.check]);
    expect((await identify('local'))?.provider).toBe('local');
    expect((await identify('good'))?.provider).toBe('github');
    host.state.down = true;
    expect((await identify('local'))?.login).toBe('me');
  });
});
