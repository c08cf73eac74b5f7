import { EventEmitter } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { identifyToken } from '../../src/api/http/auth.ts';
import { createSignIns } from '../../src/api/sign-in/sign-in.ts';
import { createTokenWatch } from '../../src/api/sign-in/token-ends.ts';
import { createCachedIdentity } from '../../src/identity/cached-identity.ts';
import { codeHostIdentity } from '../../src/identity/providers.ts';

const MOST = 3;
const ADDRESS = '192.0.2.1';
const ANN = { provider: 'local', subject: 'ann', login: 'ann' };

/** Attempts to sign in from one address, with a provider that knows no token but `right` and may be down. */
function startSignIns() {
  let down = false;
  const identify = createCachedIdentity([
    async (token) => {
      if (down) throw new Error('down');
      return token === 'right' ? ANN : null;
    },
  ]);
  const sign_ins = createSignIns(MOST);
  const attempt = (token: string, address = ADDRESS) =>
    identifyToken({ identify, sign_ins }, token, address).then(
      (principal) => principal?.login ?? null,
      ({ code }) => code,
    );
  const setDown = (value: boolean) => {
    down = value;
  };
  return { attempt, setDown };
}

describe('attempts to sign in from one address', () => {
  it('are refused after as many failures as are allowed, except with a token that is known', async () => {
    const { attempt } = startSignIns();
    expect(await attempt('right')).toBe('ann');
    for (const token of ['a', 'b', 'c']) expect(await attempt(token)).toBeNull();
    expect(await attempt('d')).toBe('sign_in_limit');
    expect(await attempt('right')).toBe('ann');
    expect(await attempt('d', '192.0.2.2')).toBeNull();
  });

  it('count for the network of an IPv6 address, in every spelling', async () => {
    const { attempt } = startSignIns();
    for (const address of ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::9', '2001:db8:1:2:ffff::'])
      expect(await attempt(address, address)).toBeNull();
    expect(await attempt('d', '2001:db8:1:2:7:7:7:7')).toBe('sign_in_limit');
    for (const address of ['2001:db8:1:3:3:4:5:6', '2001:db8::1:2']) expect(await attempt(address, address)).toBeNull();
  });

  it('do not count as failures while no provider answers', async () => {
    const { attempt, setDown } = startSignIns();
    setDown(true);
    for (let round = 0; round <= MOST; round += 1) expect(await attempt(`t${round}`)).toBe('identity_unavailable');
    setDown(false);
    expect(await attempt('right')).toBe('ann');
  });

  it('count as failures while the provider limits requests, and do not reach it', async () => {
    let asked = 0;
    const host = codeHostIdentity({
      provider: 'github',
      api_url: 'https://code-host.test',
      fetch: async () => {
        asked += 1;
        return new Response('', { status: 429, headers: { 'retry-after': '37' } });
      },
    });
    const known = async (token: string) => (token === 'right' ? ANN : null);
    const [identify, sign_ins] = [createCachedIdentity([known, host]), createSignIns(MOST)];
    const attempt = (token: string) =>
      identifyToken({ identify, sign_ins }, token, ADDRESS).then(
        (principal) => principal?.login,
        ({ code }) => code,
      );
    expect(await attempt('right')).toBe('ann');
    for (const token of ['a', 'b', 'c']) expect(await attempt(token)).toBe('identity_limited');
    expect(await attempt('d')).toBe('sign_in_limit');
    expect(await attempt('right')).toBe('ann');
    expect(asked).toBe(1);
  });

  it('do not count as failures if they succeed', async () => {
    const { attempt } = startSignIns();
    for (const token of ['a', 'b']) await attempt(token);
    expect(await attempt('right')).toBe('ann');
    expect(await attempt('c')).toBeNull();
    expect(await attempt('d')).toBe('sign_in_limit');
  });
});

describe('an open stream', () => {
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['a service key', { service_key: { id: 'k' } }, true],
    ['an access token that names its end', { valid_until: 4_102_444_800_000 }, true],
    ['an access token that names none, about which a code host would be asked', {}, false],
  ])('of %s ends within seconds of it: %s', async (_, facts, ends) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    let state: 'valid' | 'unknown' | 'ended' = 'valid';
    const identify = async () => {
      if (state === 'unknown') throw new Error('down');
      return state === 'valid' ? ANN : null;
    };
    const raw = new EventEmitter();
    const signal = createTokenWatch(identify)({ access_token: 't', ...facts } as never, { raw } as never);
    await vi.advanceTimersByTimeAsync(60_000);
    state = 'unknown';
    await vi.advanceTimersByTimeAsync(60_000);
    expect(signal.aborted).toBe(false);
    state = 'ended';
    await vi.advanceTimersByTimeAsync(3_000);
    expect(signal.aborted).toBe(ends);
    raw.emit('close');
    expect(vi.getTimerCount()).toBe(0);
  });
});
