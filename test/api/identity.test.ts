import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createCachedIdentity } from '../../src/identity/cached-identity.ts';
import { codeHostIdentity, localIdentity } from '../../src/identity/providers.ts';
import { withServiceKeys } from '../../src/identity/service-keys.ts';

/** A code host that knows one token. */
async function codeHost() {
  const state: { asked: number; down: boolean; blocked: number | null } = { asked: 0, down: false, blocked: null };
  const server = createServer(async ({ url, headers }, response) => {
    state.asked += 1;
    await wait(state.blocked ? 0 : 20);
    if (state.blocked) response.writeHead(state.blocked).end('{"id": 583231, "login": "octocat"}');
    else if (state.down) response.writeHead(502).end();
    else if (url === '/user' && headers.authorization === 'Bearer good') response.end('{"id": 583231, "login": "octocat"}');
    else response.writeHead(401).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    state,
    check: codeHostIdentity({ provider: 'github', api_url, fetch }),
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

describe('an identity', () => {
  it('is what the code host says of the token', async () => {
    await using host = await codeHost();
    expect(await host.check('good')).toEqual({ provider: 'github', subject: '583231', login: 'octocat' });
    expect(await host.check('bad')).toBeNull();
  });

  it('is unknown to the code host after any refusal of the token, and only then', async () => {
    await using host = await codeHost();
    for (let status = 300; status < 600; status += 1) {
      // `fetch` itself fails at 407, which is for proxies.
      if (status === 407) continue;
      host.state.blocked = status;
      const seen = await host.check('good').catch(({ message }: Error) => message);
      const refused = status === 401 || status === 403;
      expect(seen, String(status)).toBe(refused ? null : `The identity provider github answered ${status}`);
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
