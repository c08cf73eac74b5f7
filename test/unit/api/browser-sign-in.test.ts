import Fastify from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { requireCaller } from '../../../src/api/http/auth.ts';
import { refuseInOurWords } from '../../../src/api/http/problems.ts';
import { type BrowserSignIn, browserSignInRoutes, createCookies } from '../../../src/api/sign-in/browser-sign-in.ts';
import { resourceMetadata } from '../../../src/api/sign-in/resource-metadata.ts';
import { createSignIns } from '../../../src/api/sign-in/sign-in.ts';
import { LoginFailure } from '../../../src/domain/login-failure.ts';

afterEach(() => void vi.useRealTimers());

const NOW = new Date('2026-01-31T12:00:00Z');
const ANN = { provider: 'oidc', subject: 's', login: 'ann', claimed_role: 'viewer' as const };
const OLD = `ps_${'o'.repeat(54)}`;
const NEW = `ps_${'n'.repeat(54)}`;
const CHECKS = { state: 's', nonce: 'n', code_verifier: 'v' };
/** Keys that seal nothing. */
const KEYS = {
  seal: (text: string) => ({ sealed: new TextEncoder().encode(text), key_id: 'k' }),
  openQuietly: ({ sealed }: { sealed: Uint8Array }) => new TextDecoder().decode(sealed),
};

/** The routes of a sign-in whose issuer answers by `finish`, after two failures of one address at most. */
function open(finish: () => Promise<typeof ANN> = async () => ANN) {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW });
  const seen: unknown[] = [];
  const note = (what: string) => async (value: unknown) => void seen.push([what, value]);
  const http = Fastify();
  refuseInOurWords(http);
  const login = {
    begin: async (redirect_uri: string) => ({ url: `https://issuer.example/?${redirect_uri}`, checks: CHECKS }),
    finish,
  };
  const sign_in = { login, name: 'Example', session_hours: 5, public_url: () => 'https://perdura.example', keys: KEYS };
  browserSignInRoutes(
    http,
    {
      store: {
        browserSessions: {
          remove: note('removed'),
          create: async (session: unknown) => {
            seen.push(['created', session]);
            return NEW;
          },
        },
        principals: { noteSignIn: note('signed in') },
      },
      identify: Object.assign(async (token: string) => (token === OLD ? ANN : null), { knows: () => false }),
      audit: {
        recordSignIn: async (_: unknown, { key }: { key: string }, operation: string) => void seen.push([operation, key]),
      },
      sign_ins: createSignIns(2),
    } as never,
    sign_in as unknown as BrowserSignIn,
  );
  return { http, seen };
}
type Http = ReturnType<typeof open>['http'];

async function begin(http: Http, return_to = '/dashboard/tasks') {
  const { headers } = await http.inject(`/auth/login?return_to=${return_to}`);
  return { headers, cookie: String(headers['set-cookie']).split(';')[0] as string };
}
const finish = async (http: Http, cookie: string) => {
  const { statusCode, headers, body } = await http.inject({ url: '/auth/callback?code=c&state=s', headers: { cookie } });
  return { status: statusCode, location: headers.location, cookies: [headers['set-cookie'] ?? []].flat(), body };
};

describe('a sign-in in a browser', () => {
  it('keeps its checks for ten minutes and the session for its hours, for this host over https alone', async () => {
    const { http, seen } = open();
    const { headers, cookie } = await begin(http);
    expect(headers.location).toBe('https://issuer.example/?https://perdura.example/auth/callback');
    const attributes = (seconds: number) => `Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}; Secure`;
    expect(headers['set-cookie']).toBe(`${cookie}; ${attributes(600)}`);
    expect(cookie).toMatch(/^__Host-perdura-login=/);
    const { status, location, cookies } = await finish(http, `${cookie}; __Host-perdura-session=${OLD}`);
    expect([status, location]).toEqual([302, '/dashboard/tasks']);
    expect(cookies).toEqual([
      `__Host-perdura-login=; ${attributes(0)}`,
      `__Host-perdura-session=${NEW}; ${attributes(5 * 3_600)}`,
    ]);
    const { provider, subject, login, claimed_role } = ANN;
    expect(seen).toEqual([
      ['removed', OLD],
      ['created', { provider, subject, login, claimed_role, expires_at: new Date(NOW.getTime() + 5 * 3_600_000) }],
      ['signed in', ANN],
      ['sign_in', 'oidc:s'],
    ]);
  });

  it('is too late after ten minutes', async () => {
    const { http, seen } = open();
    const { cookie } = await begin(http);
    vi.setSystemTime(NOW.getTime() + 599_999);
    expect((await finish(http, cookie)).location).toBe('/dashboard/tasks');
    vi.setSystemTime(NOW.getTime() + 600_000);
    expect((await finish(http, cookie)).location).toBe('/dashboard/?sign_in=expired');
    expect(seen.filter((one) => (one as string[])[0] === 'created')).toHaveLength(1);
  });

  it.each(['refused', 'denied'] as const)(
    'that is %s counts as a failure of its address, and is refused after as many as are allowed',
    async (kind) => {
      const { http } = open(async () => Promise.reject(new LoginFailure(kind, 'no', null)));
      const { cookie } = await begin(http);
      const outcomes = [await finish(http, cookie), await finish(http, cookie), await finish(http, cookie)];
      expect(outcomes.map(({ status, location }) => [status, location])).toEqual([
        [302, `/dashboard/?sign_in=${kind}`],
        [302, `/dashboard/?sign_in=${kind}`],
        [429, undefined],
      ]);
      expect(JSON.parse(outcomes[2]!.body).code).toBe('sign_in_limit');
    },
  );

  it('that succeeds, or whose issuer is down, does not count as a failure', async () => {
    const down = open(async () => Promise.reject(new LoginFailure('unreachable', 'no', null)));
    for (const { http } of [open(), down]) {
      const { cookie } = await begin(http);
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 4; attempt += 1) statuses.push((await finish(http, cookie)).status);
      expect(statuses).toEqual([302, 302, 302, 302]);
    }
  });

  it('fails as a defect if something else fails, which nobody takes for the person’s fault', async () => {
    const { http } = open(async () => Promise.reject(new Error('a defect')));
    const { status, body } = await finish(http, (await begin(http)).cookie);
    expect([status, body.includes('a defect')]).toEqual([500, false]);
  });
});

describe('the session', () => {
  const cookie = `__Host-perdura-session=${OLD}`;

  it('is shown with the way to sign in', async () => {
    const { http } = open();
    const shown = { issuer: 'Example', login_url: 'https://perdura.example/auth/login' };
    const state = async (headers: Record<string, string>) => (await http.inject({ url: '/auth/session', headers })).json();
    expect(await state({ cookie })).toEqual({ ...shown, signed_in: true });
    expect(await state({ cookie: `__Host-perdura-session=${NEW}` })).toEqual({ ...shown, signed_in: false });
    expect(await state({ cookie: `perdura-session=${OLD}` })).toEqual({ ...shown, signed_in: false });
    expect(await state({})).toEqual({ ...shown, signed_in: false });
  });

  it('is accepted from its cookie alone, and nothing else is from there', async () => {
    const http = Fastify();
    refuseInOurWords(http);
    const public_url = () => 'https://perdura.example';
    requireCaller(http, {
      identify: Object.assign(async (token: string) => ([OLD, 'token'].includes(token) ? ANN : null), { knows: () => true }),
      sign_ins: createSignIns(2),
      authorityOf: () => ({ role: 'viewer', scopes: ['read'] }),
      refuseUnopened: async () => {},
      browser: { cookies: createCookies({ public_url }), public_url },
    });
    http.get('/api/me', async ({ caller }) => ({ detail: caller.login }));
    const ask = async (headers: Record<string, string>) => {
      const answer = await http.inject({ url: '/api/me', headers });
      return [answer.statusCode, answer.json().detail];
    };
    const missing = [401, expect.stringMatching(/^Send the header Authorization/)];
    expect(await ask({ cookie })).toEqual([200, 'ann']);
    expect(await ask({ authorization: 'Bearer token' })).toEqual([200, 'ann']);
    expect(await ask({})).toEqual(missing);
    expect(await ask({ 'sec-fetch-site': 'cross-site' })).toEqual(missing);
    expect(await ask({ cookie: '__Host-perdura-session=token' })).toEqual(missing);
    expect(await ask({ cookie, 'sec-fetch-site': 'cross-site' })).toEqual([403, expect.stringMatching(/^Only pages of this/)]);
  });

  it('that has expired ends without a person', async () => {
    const { http, seen } = open();
    const headers = { cookie: `__Host-perdura-session=${NEW}`, 'sec-fetch-site': 'same-origin' };
    expect((await http.inject({ method: 'POST', url: '/auth/logout', headers })).statusCode).toBe(204);
    expect(seen).toEqual([['removed', NEW]]);
  });

  it('ends with signing out, by a page of this service alone', async () => {
    const { http, seen } = open();
    const out = (headers: Record<string, string>) => http.inject({ method: 'POST', url: '/auth/logout', headers });
    expect((await out({ cookie, 'sec-fetch-site': 'cross-site' })).statusCode).toBe(403);
    expect([(await out({})).statusCode, seen]).toEqual([204, []]);
    const ended = await out({ cookie, 'sec-fetch-site': 'same-origin' });
    expect([ended.statusCode, ended.headers['set-cookie']]).toEqual([
      204,
      expect.stringMatching(/^__Host-perdura-session=; .*Max-Age=0/),
    ]);
    expect(seen).toEqual([
      ['removed', OLD],
      ['sign_out', 'oidc:s'],
    ]);
  });
});

it('a client of /mcp learns where to get a token if the service knows its own address', async () => {
  const ask = async (url: string | null) => {
    const http = Fastify();
    resourceMetadata(http, { issuer: 'https://issuer.example', public_url: () => url });
    const { statusCode, body } = await http.inject('/.well-known/oauth-protected-resource/mcp');
    return [statusCode, JSON.parse(body).resource];
  };
  expect(await ask('https://perdura.example')).toEqual([200, 'https://perdura.example/mcp']);
  expect(await ask(null)).toEqual([404, undefined]);
});
