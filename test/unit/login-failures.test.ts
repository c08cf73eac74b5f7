import { expect, it } from 'vitest';
import { LoginFailure } from '../../src/domain/login-failure.ts';
import { oidcLogin } from '../../src/identity/oidc-login.ts';

const ISSUER = 'https://issuer.example';
const METADATA = {
  issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`,
  token_endpoint: `${ISSUER}/token`,
  jwks_uri: `${ISSUER}/keys`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
};

/** Signs in at an issuer that answers so at its token endpoint, and returns why that failed. */
async function failureOf(answer: () => Response, query = 'code=c&state=s'): Promise<string> {
  const fetch = async (url: unknown) => (String(url).endsWith('/token') ? answer() : Response.json(METADATA));
  const client = { client_id: 'c', client_secret: 'hush', scopes: 'openid', role_claim: null };
  const login = oidcLogin({ issuer: ISSUER, ...client, fetch: fetch as typeof globalThis.fetch });
  const checks = { state: 's', nonce: 'n', code_verifier: 'v'.repeat(43) };
  const error = await login.finish(new URL(`https://perdura.example/auth/callback?${query}`), checks).catch((reason) => reason);
  return error instanceof LoginFailure ? error.kind : `no failure of a sign-in: ${error}`;
}

it.each([
  [400, 'invalid_grant', 'refused'],
  [401, 'invalid_client', 'refused'],
  [429, 'slow_down', 'refused'],
  [499, 'cancelled', 'refused'],
  [500, 'server_error', 'unreachable'],
  [502, 'bad_gateway', 'unreachable'],
  [503, 'temporarily_unavailable', 'unreachable'],
])('an issuer that answers %i with the error %s: %s', async (status, error, kind) => {
  expect(await failureOf(() => Response.json({ error }, { status }))).toBe(kind);
});

it.each([
  ['does not answer', () => Promise.reject(new TypeError('fetch failed')) as never, 'unreachable'],
  ['answers with a page', () => new Response('<html>', { status: 502 }), 'unreachable'],
])('an issuer that %s', async (_, answer, kind) => {
  expect(await failureOf(answer)).toBe(kind);
});

it.each([
  ['access_denied', 'denied'],
  ['server_error', 'refused'],
])('an issuer that sends the browser back with %s: %s', async (error, kind) => {
  expect(await failureOf(() => Response.json({}), `error=${error}&state=s`)).toBe(kind);
});
