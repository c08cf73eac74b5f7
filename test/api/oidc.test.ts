import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storable } from '../../src/domain/transcript.ts';
import { createCachedIdentity } from '../../src/identity/cached-identity.ts';
import { oidcIdentity } from '../../src/identity/oidc.ts';
import { readConfig } from '../../src/main/config.ts';
import { createIdentityChecks } from '../../src/main/setting.ts';
import { clientOf } from '../support/client.ts';
import { ODD_VALUES } from '../support/contract/odd-values.ts';
import { startTestInstallation } from '../support/installation.ts';

const key = await generateKeyPair('ES256');
const other = await generateKeyPair('ES256');
const state = { asked: [] as string[], down: false, limited_at: '' };
const server = createServer(async ({ url = '' }, response) => {
  state.asked.push(url);
  if (state.down) return void response.writeHead(502).end();
  if (state.limited_at && url.endsWith(state.limited_at)) return void response.writeHead(429, { 'retry-after': '37' }).end();
  response.setHeader('content-type', 'application/json');
  if (url.endsWith('/jwks'))
    response.end(JSON.stringify({ keys: [{ ...(await exportJWK(key.publicKey)), kid: 'a', alg: 'ES256' }] }));
  else response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/jwks` }));
});
let issuer: string;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;
});
afterAll(() => void server.close());

interface Making {
  claims?: object;
  expires?: number;
  signer?: CryptoKey;
  iss?: string;
  aud?: string;
}

const now = () => Math.floor(Date.now() / 1_000);
const tokenOf = ({ claims = {}, expires = 600, signer = key.privateKey, iss = issuer, aud = 'perdura' }: Making = {}) =>
  new SignJWT({ sub: 'u-1', preferred_username: 'ada', ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'a' })
    .setIssuer(iss)
    .setAudience(aud)
    .setExpirationTime(now() + expires)
    .sign(signer);
const open = (role_claim: string | null = null) => oidcIdentity({ issuer, audiences: ['x', 'perdura'], role_claim, fetch });

describe('a token of an OpenID Connect issuer', () => {
  it('is verified with the keys of the issuer, which are fetched once', async () => {
    const identify = open();
    state.asked = [];
    expect(await identify(await tokenOf())).toMatchObject({ provider: 'oidc', subject: 'u-1', login: 'ada' });
    await identify(await tokenOf());
    expect(state.asked).toEqual(['/realm/.well-known/openid-configuration', '/realm/jwks']);
    expect(await identify('gho_opaque')).toBeNull();
  });

  it('is refused if it is forged, for someone else, from elsewhere, expired or without an owner', async () => {
    const identify = open();
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${(await tokenOf()).split('.')[1]}.x`;
    const shared = new TextEncoder().encode(JSON.stringify(await exportJWK(key.publicKey)));
    const confused = await new SignJWT({ sub: 'u-1', iss: issuer, aud: 'perdura', exp: now() + 600 })
      .setProtectedHeader({ alg: 'HS256', kid: 'a' })
      .sign(shared);
    const wrong = [
      { signer: other.privateKey },
      { aud: 'another' },
      { iss: 'https://evil.example' },
      { expires: -120 },
      { claims: { sub: undefined } },
      { claims: { nbf: now() + 600 } },
    ];
    const tokens = [...(await Promise.all(wrong.map(tokenOf))), unsigned, confused];
    expect(await Promise.all(tokens.map(identify))).toEqual(tokens.map(() => null));
    expect(await identify(await tokenOf({ expires: -30 }))).toMatchObject({ subject: 'u-1' });
  });

  it.each(['sub', 'preferred_username', 'email', 'roles', 'groups'])(
    'with anything as %s is of one person or refused',
    async (claim) => {
      const identify = open(claim === 'groups' ? 'groups.deep' : 'roles');
      const faults: unknown[] = [];
      for (const [name, value] of ODD_VALUES) {
        const found = await identify(await tokenOf({ claims: { [claim]: typeof value === 'symbol' ? undefined : value } })).catch(
          (error: Error) => ({ subject: error, login: '' }),
        );
        const subject = claim === 'sub' ? value : 'u-1';
        const right =
          found === null
            ? claim === 'sub'
            : typeof found.subject === 'string' && found.subject === subject && storable(found.login) === found.login;
        if (!right || found?.subject === '') faults.push([name, found]);
      }
      expect(faults).toEqual([]);
    },
  );

  it('names a role, the highest counts', async () => {
    const of = async (role_claim: string | null, claims: object) =>
      (await open(role_claim)(await tokenOf({ claims })))?.claimed_role;
    expect(await of('roles', { roles: ['viewer', 'editor', 'boss'] })).toBe('editor');
    expect(await of('realm_access.roles', { realm_access: { roles: ['administrator'] } })).toBe('administrator');
    expect(await of('role', { role: 'viewer' })).toBe('viewer');
    expect([await of('roles', {}), await of('a.b', { a: 1 }), await of(null, { roles: ['administrator'] })]).toEqual(
      Array(3).fill(undefined),
    );
  });

  it('is not remembered beyond its end, also while the issuer is down', async () => {
    const clock = { at: 0 };
    let valid = true;
    const ends = async () => {
      if (!valid) throw new Error('down');
      return { provider: 'oidc', subject: 'u', login: 'u', valid_until: Date.now() - 1 };
    };
    const identify = createCachedIdentity([ends], { now: () => clock.at });
    await identify('t');
    valid = false;
    await expect(identify('t')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('cannot be judged while the issuer is down, and can again afterwards', async () => {
    const identify = open();
    state.down = true;
    await expect(identify(await tokenOf())).rejects.toThrow('answered 502');
    state.down = false;
    expect(await identify(await tokenOf())).toMatchObject({ subject: 'u-1' });
  });

  it.each(['/openid-configuration', '/jwks'])('is not judged while the issuer limits requests for %s', async (place) => {
    const identify = createCachedIdentity([open()]);
    state.limited_at = place;
    const { kind, code, retry_after_s } = await identify(await tokenOf()).catch((error) => error);
    expect({ kind, code, retry_after_s }).toEqual({ kind: 'unavailable', code: 'identity_limited', retry_after_s: 37 });
    state.limited_at = '';
    expect(await identify(await tokenOf())).toMatchObject({ subject: 'u-1' });
  });

  it('is judged by the token alone, and by no status of the issuer', async () => {
    for (let status = 201; status < 600; status += 1) {
      if (status === 407) continue;
      const refusing: typeof fetch = async (url, init) =>
        String(url).endsWith('/jwks')
          ? new Response([204, 205, 304].includes(status) ? null : '{}', { status })
          : fetch(url, init);
      const identify = oidcIdentity({ issuer, audiences: ['perdura'], role_claim: null, fetch: refusing });
      expect(await identify(await tokenOf()).catch(() => 'unknown'), String(status)).toBe('unknown');
    }
  });

  it('signs in, with the role of its claim', async () => {
    const env = { IDENTITY_PROVIDERS: 'github,oidc', OIDC_ISSUER: issuer, OIDC_AUDIENCE: 'perdura', OIDC_ROLE_CLAIM: 'roles' };
    const identity_providers = await createIdentityChecks(readConfig({ ...env, IDENTITY_API_URL: `${issuer}/github` }), 'github');
    const here = await startTestInstallation({ worker: false, setting: { identity_providers } });
    state.asked = [];
    const as = async (...roles: string[]) => clientOf(here.url, await tokenOf({ claims: { roles } }));
    const skill = { name: 'x', instructions: 'x' };
    const viewer = await as('viewer');
    expect((await viewer.get('/api/me')).body).toMatchObject({ id: 'oidc:u-1', login: 'ada', role: 'viewer' });
    expect((await viewer.post('/api/skills', skill)).body.code).toBe('role_insufficient');
    const administrator = await as('administrator');
    expect((await administrator.get('/api/audit')).status).toBe(200);
    expect((await administrator.post('/api/skills', skill)).status).toBe(201);
    expect(state.asked.filter((url) => url.includes('github'))).toEqual([]);
    await here.stop();
  });
});

it('needs an issuer and an audience', async () => {
  await expect(createIdentityChecks(readConfig({ IDENTITY_PROVIDERS: 'oidc' }), 'github')).rejects.toThrow(
    'set OIDC_ISSUER and OIDC_AUDIENCE',
  );
  expect(() => readConfig({ OIDC_ISSUER: 'http://id.example' })).toThrow(
    'OIDC_ISSUER=http://id.example is not valid: expected a URL with https://',
  );
});

it('is what clients of /mcp find the issuer for, by the address in the refusal', async () => {
  const env = { IDENTITY_PROVIDERS: 'oidc', OIDC_ISSUER: issuer, OIDC_AUDIENCE: 'perdura' };
  let url = '';
  const here = await startTestInstallation({ env, worker: false, setting: { public_url: () => url } });
  try {
    url = here.url;
    const refused = await fetch(`${url}/mcp`, { method: 'POST' });
    expect(refused.status).toBe(401);
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
    expect(resourceMetadataUrl?.href).toBe(`${url}/.well-known/oauth-protected-resource/mcp`);
    const metadata = await discoverOAuthProtectedResourceMetadata(`${url}/mcp`);
    expect(metadata).toMatchObject({ resource: `${url}/mcp`, authorization_servers: [issuer] });
    expect((await fetch(`${url}/api/me`)).headers.get('www-authenticate')).toBe('Bearer');
  } finally {
    await here.stop();
  }
});
