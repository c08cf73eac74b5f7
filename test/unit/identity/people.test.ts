import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { withBrowserSessions } from '../../../src/identity/browser-sessions.ts';
import { createCachedIdentity, type Identity } from '../../../src/identity/cached-identity.ts';
import { laterStarts } from '../../../src/identity/later-starts.ts';
import { oidcIdentity } from '../../../src/identity/oidc.ts';
import { oidcLogin } from '../../../src/identity/oidc-login.ts';
import { codeHostIdentity, localIdentity } from '../../../src/identity/providers.ts';
import { authorities } from '../../../src/identity/roles.ts';

type Json = Record<string, any>;
const SESSION = `ps_${'x'.repeat(54)}`;
const KEY = `pk_${'x'.repeat(54)}`;

describe('an account at a code host', () => {
  const ask = async (provider: 'github' | 'gitlab' | 'gitea', account: unknown, api_url = 'https://host.test/api/v4') => {
    const asked: Request[] = [];
    const identity = await codeHostIdentity({
      ...{ provider, api_url },
      fetch: async (input, init) => {
        asked.push(new Request(input, init));
        return Response.json(account);
      },
    })('secret');
    return { identity, asked: asked.map(({ url, method, headers }) => [method, url, headers.get('authorization')]) };
  };

  it.each([
    ['github', 'Bearer secret'],
    ['gitlab', 'Bearer secret'],
    ['gitea', 'token secret'],
  ] as const)('of %s is asked for at its address, with the token as it expects it', async (provider, authorization) => {
    for (const api_url of ['https://host.test/api/v4', 'https://host.test/api/v4/']) {
      const { identity, asked } = await ask(provider, { id: 583_231, login: 'octo', username: 'other' }, api_url);
      expect(asked).toEqual([['GET', 'https://host.test/api/v4/user', authorization]]);
      expect(identity).toEqual({ provider, subject: '583231', login: 'octo' });
    }
  });

  it.each([
    [
      { id: 7, username: 'tanuki' },
      { subject: '7', login: 'tanuki' },
    ],
    [
      { id: 'a-b', login: 'x' },
      { subject: 'a-b', login: 'x' },
    ],
    [{ id: 11 }, { subject: '11', login: '11' }],
  ])('is known by its id, and shown by the name that it has: %j', async (account, expected) => {
    expect((await ask('gitlab', account)).identity).toEqual({ provider: 'gitlab', ...expected });
  });

  it.each([{}, { login: 'x' }, { id: '' }, { id: null }, { id: 1.5 }, null])('without an id is nobody’s: %j', async (account) => {
    await expect(ask('github', account)).rejects.toThrow('The account at the identity provider github');
  });
});

it('an account of the installation belongs to the one whose token it is', async () => {
  const identify = localIdentity(['ann', 'ben', 'cleo'].map((login) => ({ login, token: `token of ${login}` })));
  const tokens = ['token of cleo', 'token of ann', 'token of ben', 'token of b', 'token of bens', ''];
  const found = await Promise.all(tokens.map(identify));
  expect(found.map((identity) => identity?.subject ?? null)).toEqual(['cleo', 'ann', 'ben', null, null, null]);
});

describe('the memory of identities', () => {
  const ANN: Identity = { provider: 'local', subject: 'ann', login: 'ann' };

  it('reports each time that a provider has confirmed somebody, and nothing else', async () => {
    let now = 0;
    const seen: string[] = [];
    const on_seen = ({ login }: Identity) => void seen.push(login);
    const identify = createCachedIdentity([async (token) => (token === 'ann' ? ANN : null)], { now: () => now, on_seen });
    for (const token of ['ann', 'ann', 'nobody']) await identify(token);
    expect(seen).toEqual(['ann']);
    now = 5 * 60_000;
    for (const token of ['ann', 'ann', 'nobody']) await identify(token);
    expect(seen).toEqual(['ann', 'ann']);
  });

  it('takes a token for invalid only if every provider knows that', async () => {
    const down = async () => Promise.reject(new Error('down'));
    const no = async () => null;
    await expect(createCachedIdentity([down, no])('x')).rejects.toMatchObject({ code: 'identity_unavailable' });
    await expect(createCachedIdentity([no, down])('x')).rejects.toMatchObject({ code: 'identity_unavailable' });
    expect(await createCachedIdentity([no, no])('x')).toBeNull();
    expect(await createCachedIdentity([down, async () => ANN])('x')).toEqual(ANN);
  });

  it('knows who was valid within the last hour, and who was not for half a minute', async () => {
    let now = 0;
    const identify = createCachedIdentity([async (token) => (token === 'ann' ? ANN : null)], { now: () => now });
    const known = () => ['ann', 'nobody', 'unseen'].map((token) => identify.knows(token));
    expect(known()).toEqual([false, false, false]);
    await Promise.all(['ann', 'nobody'].map(identify));
    const at = (time: number) => {
      now = time;
      return known();
    };
    expect([at(29_999), at(30_000), at(3_599_999), at(3_600_000)]).toEqual([
      [true, true, false],
      [true, false, false],
      [true, false, false],
      [false, false, false],
    ]);
  });

  it('asks a provider once for requests at the same time, and again after a failure', async () => {
    let asked = 0;
    const identify = createCachedIdentity([
      async () => {
        asked += 1;
        if (asked === 1) throw new Error('down');
        return ANN;
      },
    ]);
    const first = await Promise.allSettled([identify('x'), identify('x')]);
    expect([first.map(({ status }) => status), asked]).toEqual([['rejected', 'rejected'], 1]);
    expect([await identify('x'), asked]).toEqual([ANN, 2]);
  });
});

describe('the session of a browser', () => {
  const start = (session: Json | null) => {
    const asked: string[] = [];
    const people = createCachedIdentity([
      async (token) => {
        asked.push(token);
        return null;
      },
    ]);
    const row = session as never;
    return { asked, identify: withBrowserSessions(people, async () => row) };
  };
  const row = {
    provider: 'oidc',
    subject: 's',
    login: 'ann',
    claimed_role: 'viewer',
    expires_at: new Date('2999-01-01T00:00:00Z'),
  };

  it('is its person’s, with the role and the end that it has, and reaches no provider', async () => {
    const { asked, identify } = start(row);
    const identity = {
      provider: 'oidc',
      subject: 's',
      login: 'ann',
      browser_session: true,
      valid_until: row.expires_at.getTime(),
    };
    expect(await identify(SESSION)).toEqual({ ...identity, claimed_role: 'viewer' });
    expect(await start({ ...row, claimed_role: null }).identify(SESSION)).toEqual(identity);
    expect(await start(null).identify(SESSION)).toBeNull();
    expect(asked).toEqual([]);
    await identify('another');
    expect(asked).toEqual(['another']);
  });
});

const ISSUER = 'https://issuer.test';
const signing = await generateKeyPair('ES256');
const edwards = await generateKeyPair('EdDSA');
const JWKS = {
  keys: [
    { ...(await exportJWK(signing.publicKey)), kid: 'es', alg: 'ES256' },
    { ...(await exportJWK(edwards.publicKey)), kid: 'ed', alg: 'EdDSA' },
  ],
};
const METADATA = {
  ...{ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`, authorization_endpoint: `${ISSUER}/authorize` },
  ...{ token_endpoint: `${ISSUER}/token`, response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
  // The library assumes RS256 otherwise.
  id_token_signing_alg_values_supported: ['ES256'],
};
const now = () => Math.floor(Date.now() / 1_000);
const sign = (claims: Json, { alg = 'ES256', kid = 'es', key = signing.privateKey } = {}) =>
  new SignJWT({ iss: ISSUER, aud: 'perdura', sub: 'u-1', exp: now() + 600, iat: now(), ...claims })
    .setProtectedHeader({ alg, kid })
    .sign(key);

/** Answers by path; records what was asked. */
function serving(answers: Record<string, unknown>) {
  const asked: { path: string; headers: Headers; body: URLSearchParams }[] = [];
  const serve: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const path = new URL(request.url).pathname;
    asked.push({ path, headers: request.headers, body: new URLSearchParams(await request.text()) });
    const answer = answers[path];
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? answer.clone() : Response.json(answer ?? null, { status: answer ? 200 : 404 });
  };
  return { asked, fetch: serve };
}
const DISCOVERY = '/.well-known/openid-configuration';

describe('a token of an issuer', () => {
  const open = (metadata: Json = METADATA, issuer = ISSUER) =>
    oidcIdentity({ issuer, audiences: ['x', 'perdura'], role_claim: null, ...serving({ [DISCOVERY]: metadata, '/jwks': JWKS }) });

  it('is valid until a minute after its end, and is not kept beyond that', async () => {
    const ends = (seconds: number) => now() + seconds;
    const [soon, late] = [ends(-57), ends(-62)];
    expect(await open()(await sign({ exp: soon }))).toMatchObject({ valid_until: (soon + 60) * 1_000 });
    expect(await open()(await sign({ exp: late }))).toBeNull();
    expect(await open()(await sign({ nbf: ends(57) }))).toMatchObject({ subject: 'u-1' });
    expect(await open()(await sign({ nbf: ends(63) }))).toBeNull();
  });

  it.each([
    [{ preferred_username: 'ada', email: 'a@example.org' }, 'ada'],
    [{ email: 'a@example.org' }, 'a@example.org'],
    [{ preferred_username: '', email: 'a@example.org' }, 'a@example.org'],
    [{ preferred_username: 'a\u0000' }, 'u-1'],
    [{}, 'u-1'],
  ])('is shown by the name that it has: %j', async (claims, login) => {
    expect(await open()(await sign(claims))).toMatchObject({ provider: 'oidc', subject: 'u-1', login });
  });

  it('may be signed with any of the keys, and for any of several audiences', async () => {
    const token = await sign({ aud: ['other', 'x'] }, { alg: 'EdDSA', kid: 'ed', key: edwards.privateKey });
    expect(await open()(token)).toMatchObject({ subject: 'u-1' });
    expect(await open()(await sign({ aud: ['other'] }))).toBeNull();
    expect(await open()(await sign({}, { kid: 'ed' }))).toBeNull();
  });

  it('is not judged by metadata of another issuer', async () => {
    const elsewhere = { ...METADATA, issuer: 'https://evil.test' };
    await expect(open(elsewhere)(await sign({}))).rejects.toThrow(
      'OIDC_ISSUER is https://issuer.test, but https://issuer.test/.well-known/openid-configuration names the issuer https://evil.test',
    );
    const slashed = { ...METADATA, issuer: `${ISSUER}/` };
    expect(await open(slashed, `${ISSUER}/`)(await sign({ iss: `${ISSUER}/` }))).toMatchObject({ subject: 'u-1' });
  });
});

describe('a sign-in at an issuer', () => {
  const CHECKS = { state: 's', nonce: 'n', code_verifier: 'v'.repeat(43) };
  interface Scene {
    metadata?: Json;
    id_claims?: Json;
    access_token?: string;
    userinfo?: Json;
    token_answer?: unknown;
    secret?: string | null;
    query?: string;
  }
  async function finish({ metadata = {}, id_claims = {}, access_token = 'opaque', userinfo, token_answer, ...more }: Scene = {}) {
    const id_token = await sign({ nonce: 'n', ...id_claims });
    const { asked, fetch } = serving({
      [DISCOVERY]: { ...METADATA, ...(userinfo && { userinfo_endpoint: `${ISSUER}/userinfo` }), ...metadata },
      '/jwks': JWKS,
      '/token': token_answer ?? { access_token, token_type: 'bearer', expires_in: 60, id_token },
      '/userinfo': userinfo,
    });
    const { secret = 'the secret', query = 'code=c&state=s' } = more;
    const login = oidcLogin({
      ...{ issuer: ISSUER, client_id: 'perdura', client_secret: secret, scopes: 'openid extra', role_claim: 'app.roles', fetch },
    });
    const outcome = await login.finish(new URL(`https://perdura.test/back?${query}`), CHECKS).catch((error) => error);
    return { outcome, token: asked.find(({ path }) => path === '/token'), login };
  }

  it('begins with fresh checks, and PKCE', async () => {
    const { login } = await finish();
    const [one, other] = [await login.begin('https://perdura.test/back'), await login.begin('https://perdura.test/back')];
    expect(Object.fromEntries(new URL(one.url).searchParams)).toMatchObject({
      ...{ client_id: 'perdura', redirect_uri: 'https://perdura.test/back', scope: 'openid extra', response_type: 'code' },
      ...{ state: one.checks.state, nonce: one.checks.nonce, code_challenge_method: 'S256' },
    });
    for (const name of ['state', 'nonce', 'code_verifier'] as const) expect(one.checks[name]).not.toBe(other.checks[name]);
  });

  it('takes the name and the highest role from wherever the issuer puts them', async () => {
    const roles = (...names: string[]) => ({ app: { roles: names } });
    const outcomes = [
      await finish({ id_claims: { preferred_username: 'ada', ...roles('viewer') } }),
      await finish({ userinfo: { sub: 'u-1', email: 'a@example.org', ...roles('administrator') }, id_claims: roles('viewer') }),
      await finish({ access_token: await sign(roles('editor', 'viewer')) }),
      // The access token of somebody else says nothing about this person.
      await finish({ access_token: await sign({ sub: 'u-2', preferred_username: 'eve', ...roles('administrator') }) }),
      await finish({ id_claims: roles('boss') }),
    ].map(({ outcome }) => [outcome.provider, outcome.subject, outcome.login, outcome.claimed_role]);
    expect(outcomes).toEqual([
      ['oidc', 'u-1', 'ada', 'viewer'],
      ['oidc', 'u-1', 'a@example.org', 'administrator'],
      ['oidc', 'u-1', 'u-1', 'editor'],
      ['oidc', 'u-1', 'u-1', null],
      ['oidc', 'u-1', 'u-1', null],
    ]);
  });

  it.each<[string, Json, string | null, 'header' | 'body' | 'none']>([
    ['that names no way', {}, 'the secret', 'header'],
    [
      'that takes both ways',
      { token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'] },
      'the secret',
      'header',
    ],
    ['that takes only a form', { token_endpoint_auth_methods_supported: ['client_secret_post'] }, 'the secret', 'body'],
    ['without a secret', { token_endpoint_auth_methods_supported: ['none'] }, null, 'none'],
  ])('authenticates at an issuer %s as it asks for', async (_, metadata, secret, way) => {
    const { token, outcome } = await finish({ metadata, secret });
    expect(outcome.subject).toBe('u-1');
    expect(token?.headers.get('authorization')?.startsWith('Basic ') ?? false).toBe(way === 'header');
    expect(token?.body.get('client_secret')).toBe(way === 'body' ? 'the secret' : null);
    expect(token?.body.get('client_id')).toBe(way === 'header' ? null : 'perdura');
    expect([token?.body.get('code'), token?.body.get('code_verifier')]).toEqual(['c', 'v'.repeat(43)]);
  });

  const NO_ANSWER = new TypeError('connect ECONNREFUSED', { cause: new Error('connect ECONNREFUSED') });
  const refusal = (status: number) => Response.json({ error: 'invalid_grant', error_description: 'Too old' }, { status });
  it.each<[string, Scene, string, RegExp | string]>([
    ['the person declines', { query: 'error=access_denied&state=s' }, 'denied', 'access_denied'],
    [
      'the issuer declines',
      { query: 'error=login_required&error_description=Again&state=s' },
      'refused',
      'login_required: Again',
    ],
    ['the code is too old', { token_answer: refusal(400) }, 'refused', 'invalid_grant: Too old'],
    ['the issuer is broken', { token_answer: refusal(500) }, 'unreachable', /./],
    ['the issuer answers with a page', { token_answer: new Response('<html>', { status: 502 }) }, 'unreachable', /./],
    ['there is no answer', { token_answer: NO_ANSWER }, 'unreachable', 'connect ECONNREFUSED'],
    ['the state is another', { query: 'code=c&state=t' }, 'refused', /./],
    ['the nonce is another', { id_claims: { nonce: 'm' } }, 'refused', /./],
    ['the audience is another', { id_claims: { aud: 'elsewhere' } }, 'refused', /./],
    ['the issuer is another', { id_claims: { iss: 'https://evil.test' } }, 'refused', /./],
    ['the user info is somebody else’s', { userinfo: { sub: 'u-2' } }, 'refused', /./],
  ])('fails if %s, and says who has to do something', async (_, scene, kind, message) => {
    const { outcome } = await finish(scene);
    expect(outcome.kind).toBe(kind);
    expect(outcome.message).toMatch(message);
  });

  it('fails if the signature is not the issuer’s', async () => {
    const id_token = await sign({ nonce: 'n' }, { key: (await generateKeyPair('ES256')).privateKey });
    const { outcome } = await finish({ token_answer: { access_token: 'a', token_type: 'bearer', id_token } });
    expect(outcome.kind).toBe('refused');
  });

  it('looks for the issuer again after it was down', async () => {
    const answers: Record<string, unknown> = { [DISCOVERY]: new Response('', { status: 503 }), '/jwks': JWKS };
    const { fetch } = serving(answers);
    const options = { issuer: ISSUER, client_id: 'perdura', client_secret: null, scopes: 'openid', role_claim: null, fetch };
    const login = oidcLogin(options);
    await expect(login.begin('https://perdura.test/back')).rejects.toMatchObject({ kind: 'unreachable' });
    answers[DISCOVERY] = METADATA;
    expect((await login.begin('https://perdura.test/back')).url).toContain(`${ISSUER}/authorize`);
  });
});

describe('what starts later', () => {
  const KNOWN = { provider: 'oidc', subject: 's', login: 'ann', claimed_role: null };
  const service_key = (more: object = {}) => ({
    ...{ id: 'k', owner: 'oidc:s', owner_login: 'ann', role: 'editor', scopes: ['read', 'run'], expires_at: null, ...more },
  });
  interface Scene {
    principal?: object | null;
    key?: object | null;
    identity?: object | null;
    providers?: string[];
    service_key_id?: string | null;
    access_token?: string | null;
    uses_token?: boolean;
  }
  const refusalOf = (scene: Scene) => {
    const { principal = KNOWN, key = null, identity = null, providers = ['github', 'oidc'], uses_token = false } = scene;
    const ports = { principal: async () => principal, findKey: async () => key, identify: async () => identity };
    return laterStarts({
      ...ports,
      authorityOf: authorities({ administrators: [], viewers: ['oidc:v'], editors: [], others: 'editor' }),
      ...{ providers, claims_roles: false },
    } as never)(
      { owner: 'oidc:s', service_key_id: scene.service_key_id ?? null, access_token: scene.access_token ?? null },
      { noun: 'schedule', uses_token },
    );
  };
  const ann = { provider: 'oidc', subject: 's', login: 'ann' };

  it.each<[string, Scene, string | null]>([
    ['its owner may run', {}, null],
    ['any provider is accepted', { providers: [] }, null],
    ['its owner is not known', { principal: null }, 'The owner of this schedule is not known'],
    [
      'its provider is not accepted',
      { providers: ['github', 'gitlab'] },
      'signed in with oidc, which this installation no longer accepts',
    ],
    [
      'its owner is a viewer',
      { principal: { ...KNOWN, subject: 'v' } },
      'The role of the owner of this schedule does not have the scope run',
    ],
    ['its key is valid', { service_key_id: 'k', key: service_key() }, null],
    ['its key is gone', { service_key_id: 'k' }, 'has expired or was deleted'],
    ['its key is somebody else’s', { service_key_id: 'k', key: service_key({ owner: 'oidc:t' }) }, 'has expired or was deleted'],
    [
      'its key may only read',
      { service_key_id: 'k', key: service_key({ scopes: ['read'] }) },
      'The service key that this schedule was saved with does not have',
    ],
    [
      'its key is a viewer’s',
      { service_key_id: 'k', key: service_key({ role: 'viewer' }) },
      'The service key that this schedule was saved with does not have',
    ],
    ['it needs a token, which is its owner’s', { uses_token: true, access_token: 'x', identity: ann }, null],
    ['it needs no token', { uses_token: false, access_token: null }, null],
    ['it needs a token and has none', { uses_token: true }, 'and this schedule has none'],
    ['it needs a token and has a key', { uses_token: true, access_token: KEY, identity: ann }, 'and this schedule has none'],
    [
      'it needs a token and has a session',
      { uses_token: true, access_token: SESSION, identity: ann },
      'and this schedule has none',
    ],
    ['its token is not valid', { uses_token: true, access_token: 'x' }, 'has expired or was revoked'],
    [
      'its token is somebody else’s',
      { uses_token: true, access_token: 'x', identity: { ...ann, subject: 't' } },
      'has expired or was revoked',
    ],
  ])('starts, or gives the reason why not: %s', async (_, scene, reason) => {
    const refusal = await refusalOf(scene);
    if (reason === null) expect(refusal).toBeNull();
    else expect(refusal).toContain(reason);
  });
});
