import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isBrowserSession, principalKey } from '../../domain/access.ts';
import { AppError, isIdentityLimited } from '../../domain/errors.ts';
import type { CachedIdentity, Identity } from '../../identity/cached-identity.ts';
import type { Caller } from '../../identity/caller.ts';
import type { AuthorityOf } from '../../identity/roles.ts';
import type { BrowserCookies } from '../sign-in/browser-cookies.ts';
import { refuseOtherOrigins } from '../sign-in/same-origin.ts';
import type { SignIns } from '../sign-in/sign-in.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller;
  }
}

interface AuthOptions {
  identify: CachedIdentity;
  sign_ins: SignIns;
  authorityOf: AuthorityOf;
  /** Throws if the caller's token does not open what the request is about. */
  refuseUnopened(request: FastifyRequest): Promise<void>;
  /** Null: browser sign-in is not configured. */
  browser: { cookies: BrowserCookies; public_url(): string | null } | null;
}

/**
 * Requires a bearer token, verified by an identity provider, on every request; under /api, a browser session is accepted as well.
 */
export function requireCaller(
  http: FastifyInstance,
  { identify, sign_ins, authorityOf, browser, refuseUnopened }: AuthOptions,
): void {
  const findToken = (request: FastifyRequest): string | null => {
    if (request.headers.authorization !== undefined || !browser) return parseBearer(request);
    if (!request.routeOptions.url?.startsWith('/api/')) return null;
    const session = browser.cookies.read(request, 'session');
    if (session) refuseOtherOrigins(request, browser.public_url());
    return session && isBrowserSession(session) ? session : null;
  };
  http.decorateRequest('caller');
  http.addHook('onRequest', async (request) => {
    const access_token = findToken(request);
    const principal = access_token && (await identifyToken({ identify, sign_ins }, access_token, request.ip));
    if (!principal) {
      throw new AppError(
        'unauthorized',
        access_token ? 'The access token is not valid' : 'Send the header Authorization: Bearer <access token>',
      );
    }
    const authority = authorityOf(principal);
    const key = principalKey(principal);
    request.caller = { ...principal, ...authority, key, access_token, is_admin: authority.role === 'administrator' };
    await refuseUnopened(request);
  });
}

/**
 * Identifies the owner of a token. A failed attempt counts before a provider is asked, also if the provider limits requests, which
 * many invalid tokens may have caused. Failed attempts never lock out a recently verified token.
 */
export async function identifyToken(
  { identify, sign_ins }: Pick<AuthOptions, 'identify' | 'sign_ins'>,
  access_token: string,
  address: string,
): Promise<Identity | null> {
  if (identify.knows(access_token)) return identify(access_token);
  sign_ins.attempt(address);
  const principal = await identify(access_token).catch((error) => {
    if (!isIdentityLimited(error)) sign_ins.forgive(address);
    throw error;
  });
  if (principal) sign_ins.forgive(address);
  return principal;
}

function parseBearer({ headers: { authorization } }: FastifyRequest): string | null {
  const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
  return token && isBrowserSession(token) ? null : token;
}
