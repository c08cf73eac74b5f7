import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';
import type { CallerRole } from '../domain/access.ts';
import { highestRole } from '../domain/access.ts';
import { readably } from '../domain/reason.ts';
import { storable } from '../domain/transcript.ts';
import type { Identity, IdentityCheck } from './cached-identity.ts';
import { refuseLimited } from './limits.ts';

interface OidcOptions {
  /** The issuer, as in the claim `iss` of its tokens. */
  issuer: string;
  /** The accepted audiences: the claim `aud` must contain one of them. */
  audiences: readonly string[];
  /** The claim that lists roles, such as `roles` or `realm_access.roles`; null: none. */
  role_claim: string | null;
  fetch: typeof globalThis.fetch;
}

const TIMEOUT_MS = 10_000;
const SKEW_SECONDS = 60;
/** The accepted algorithms: no shared secrets, and never `none`. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** Verifies tokens of an OpenID Connect issuer locally, with the keys that it publishes. Ignores other tokens. */
export function oidcIdentity({ issuer, audiences, role_claim, fetch }: OidcOptions): IdentityCheck {
  let discovered: Promise<JWTVerifyGetKey> | null = null;
  const keys = (): Promise<JWTVerifyGetKey> => {
    discovered ??= discover(issuer, fetch).catch((error: Error) => {
      discovered = null;
      throw error;
    });
    return discovered;
  };
  return async (access_token) => {
    if (!JWT.test(access_token)) return null;
    const verifying = { issuer, audience: [...audiences], algorithms: ALGORITHMS, clockTolerance: SKEW_SECONDS };
    try {
      const required = { ...verifying, requiredClaims: ['sub', 'exp'] };
      const { payload } = await jwtVerify(access_token, await keys(), required);
      return isSubject(payload.sub) ? toIdentity(payload, role_claim) : null;
    } catch (error) {
      if (isInvalid(error)) return null;
      throw error;
    }
  };
}

async function discover(issuer: string, fetch: OidcOptions['fetch']): Promise<JWTVerifyGetKey> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const answer = await fetch(url, { headers: { accept: 'application/json' }, signal: AbortSignal.timeout(TIMEOUT_MS) });
  await refuseLimited(answer, 'oidc');
  if (!answer.ok) throw new Error(`The OpenID Connect issuer answered ${answer.status} at ${url}`);
  const discovery = await parseDiscovery(answer).catch((error: Error) => {
    throw readably(error, `The OpenID Connect metadata at ${url}`);
  });
  if (discovery.issuer !== issuer) throw new Error(`OIDC_ISSUER is ${issuer}, but ${url} names the issuer ${discovery.issuer}`);
  return createRemoteJWKSet(new URL(discovery.jwks_uri), {
    timeoutDuration: TIMEOUT_MS,
    async [customFetch](place, options) {
      const answer = await fetch(place, options as RequestInit);
      await refuseLimited(answer, 'oidc');
      return answer;
    },
  });
}

const parseDiscovery = async (answer: Response) => Discovery.parse(await answer.json());

/** True if the token itself is invalid; false if the issuer's keys could not be loaded. */
const isInvalid = (error: unknown): boolean =>
  error instanceof errors.JOSEError &&
  !(error instanceof errors.JWKSTimeout) &&
  !(error instanceof errors.JWKSInvalid) &&
  error.code !== 'ERR_JOSE_GENERIC';

/**
 * True if the subject is a string, as the standard requires. Any other value may stand for several people, such as a rounded
 * number.
 */
const isSubject = (sub: unknown) => typeof sub === 'string' && sub !== '' && storable(sub) === sub;

function toIdentity(payload: JWTPayload, role_claim: string | null): Identity {
  const { sub = '', exp = 0 } = payload;
  const claimed_role = role_claim === null ? null : findRole([payload], role_claim);
  return {
    provider: 'oidc',
    subject: sub,
    login: findLogin([payload]) ?? sub,
    valid_until: (exp + SKEW_SECONDS) * 1_000,
    ...(claimed_role ? { claimed_role } : {}),
  };
}

type Claims = Record<string, unknown>;

/** Returns the login from the first claims that have one. */
export const findLogin = (sources: readonly Claims[]): string | undefined =>
  sources
    .flatMap(({ preferred_username, email }) => [preferred_username, email])
    .find((name): name is string => typeof name === 'string' && name !== '' && storable(name) === name);

/** Returns the highest role that the claims name; null: none. */
export function findRole(sources: readonly Claims[], role_claim: string): CallerRole | null {
  const parts = role_claim.split('.');
  const findClaim = (claims: Claims) => parts.reduce<unknown>((value, name) => (value as Claims | undefined)?.[name], claims);
  return highestRole(sources.flatMap(findClaim));
}
