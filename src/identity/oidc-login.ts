import { decodeJwt } from 'jose';
import * as oidc from 'openid-client';
import type { CallerRole } from '../domain/access.ts';
import { LoginFailure } from '../domain/login-failure.ts';
import { textWithReason } from '../domain/reason.ts';
import type { Principal } from '../store/people/principals.ts';
import { findLogin, findRole } from './oidc.ts';

interface LoginOptions {
  issuer: string;
  client_id: string;
  /** The client's secret; null: a public client, which PKCE alone protects. */
  client_secret: string | null;
  scopes: string;
  role_claim: string | null;
  fetch: typeof globalThis.fetch;
}

/** Values that only the browser that started the sign-in can return. */
export interface LoginChecks {
  state: string;
  nonce: string;
  code_verifier: string;
}

/** Signs people in at an OpenID Connect issuer: authorization code with PKCE. Both steps throw a LoginFailure. */
export interface OidcLogin {
  /** Returns the URL to send the browser to, and the checks for its return. */
  begin(redirect_uri: string): Promise<{ url: string; checks: LoginChecks }>;
  /** Returns the person who signed in. `url` is the URL that the issuer sent the browser to. */
  finish(url: URL, checks: LoginChecks): Promise<Principal & { claimed_role: CallerRole | null }>;
}

const TIMEOUT_SECONDS = 10;
const UNREACHABLE = ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON'];

export function oidcLogin({ scopes: scope, role_claim, ...options }: LoginOptions): OidcLogin {
  let discovered: Promise<oidc.Configuration> | null = null;
  const discoverOnce = (): Promise<oidc.Configuration> => {
    discovered ??= discover(options).catch((error: Error) => {
      discovered = null;
      throw error;
    });
    return discovered;
  };
  return {
    begin: (redirect_uri) =>
      orFailure(async () => {
        const issuer = await discoverOnce();
        const checks = {
          state: oidc.randomState(),
          nonce: oidc.randomNonce(),
          code_verifier: oidc.randomPKCECodeVerifier(),
        };
        const { href: url } = oidc.buildAuthorizationUrl(issuer, {
          redirect_uri,
          scope,
          state: checks.state,
          nonce: checks.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(checks.code_verifier),
          code_challenge_method: 'S256',
        });
        return { url, checks };
      }),
    finish: (url, { state, nonce, code_verifier }) =>
      orFailure(async () => {
        const issuer = await discoverOnce();
        const tokens = await oidc.authorizationCodeGrant(issuer, url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: code_verifier,
          idTokenExpected: true,
        });
        const { sub, ...claims } = tokens.claims() as oidc.IDToken;
        const sources = [claims, await userClaims(issuer, tokens.access_token, sub), accessClaims(tokens.access_token, sub)];
        const claimed_role = role_claim === null ? null : findRole(sources, role_claim);
        return { provider: 'oidc', subject: sub, login: findLogin(sources) ?? sub, claimed_role };
      }),
  };
}

function discover({ issuer, client_id, client_secret, fetch }: Omit<LoginOptions, 'scopes' | 'role_claim'>) {
  const server = new URL(issuer);
  // Signatures are verified even though the token came over TLS. Configuration accepts http:// for this machine only.
  const execute = [oidc.enableNonRepudiationChecks, ...(server.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])];
  return oidc.discovery(server, client_id, undefined, client_secret === null ? oidc.None() : toClientAuth(client_secret), {
    [oidc.customFetch]: (url, init) => fetch(url, init as RequestInit),
    timeout: TIMEOUT_SECONDS,
    execute,
  });
}

/** Uses the authentication method that every issuer must support, unless this issuer lists only others. */
const toClientAuth = (secret: string): oidc.ClientAuth => {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const { token_endpoint_auth_methods_supported: methods } = server;
    return (methods && !methods.includes('client_secret_basic') ? post : basic)(server, ...rest);
  };
};

/** Loads the claims of the user-info endpoint: many issuers name the person only there. */
const userClaims = async (issuer: oidc.Configuration, access_token: string, sub: string): Promise<Record<string, unknown>> =>
  issuer.serverMetadata().userinfo_endpoint ? oidc.fetchUserInfo(issuer, access_token, sub) : {};

/**
 * Returns the claims of the access token: some issuers put roles only there. The token came directly from the issuer, so its
 * signature is not checked here.
 */
function accessClaims(access_token: string, sub: string): Record<string, unknown> {
  try {
    const claims = decodeJwt(access_token);
    return claims.sub === sub ? claims : {};
  } catch {
    return {};
  }
}

async function orFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LoginFailure(classifyFailure(error), formatReason(error as Error), error);
  }
}

function formatReason(error: Error): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError)
    return [error.error, error.error_description].filter(Boolean).join(': ');
  return error.cause instanceof Response ? `${error.message} ${error.cause.status}` : textWithReason(error);
}

function classifyFailure(error: unknown): LoginFailure['kind'] {
  if (error instanceof oidc.AuthorizationResponseError) return error.error === 'access_denied' ? 'denied' : 'refused';
  const { code = '' } = error as { code?: string };
  // A TypeError comes from fetch: there was no answer.
  return error instanceof TypeError || UNREACHABLE.includes(code) ? 'unreachable' : 'refused';
}
