import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Authority, CallerRole } from '../domain/access.ts';
import { AppError, isIdentityLimited } from '../domain/errors.ts';
import type { Principal } from '../store/people/principals.ts';

interface ServiceKeyRights extends Authority {
  id: string;
  expires_at: Date | null;
}

interface ThreadTokenRights extends Authority {
  thread_id: string;
  /** The sites whose pages may use it; empty: it names none. */
  origins: readonly string[];
}

/** The owner of an access token. */
export interface Identity extends Principal {
  /** The service key that the token is; absent: the person's own access token. */
  service_key?: ServiceKeyRights;
  /** The one thread that the token opens; absent: it is not the token of a thread. */
  thread_token?: ThreadTokenRights;
  /** True if the token is a browser session, which ends when the person signs out. */
  browser_session?: true;
  /** The role that the token itself names. */
  claimed_role?: CallerRole;
  /** The time at which the token expires, in milliseconds since 1970, if that is known. */
  valid_until?: number;
}

/** Returns the identity behind a token; null if the token is invalid. Throws if that cannot be determined. */
export type IdentityCheck = (access_token: string) => Promise<Identity | null>;

/** An identity check that knows whether it would have to ask a provider. */
export interface CachedIdentity extends IdentityCheck {
  /** True if the answer for a token is cached, or the token was valid a short time ago. */
  knows(access_token: string): boolean;
}

/**
 * How long answers are kept: a valid token's, an invalid one's, a valid one's while the providers are down, and the fact that a
 * token was valid.
 */
interface Lasting {
  positive_ms: number;
  negative_ms: number;
  stale_ms: number;
  familiar_ms: number;
}

const HOUR_MS = 60 * 60_000;
const LASTING: Lasting = { positive_ms: 5 * 60_000, negative_ms: 30_000, stale_ms: HOUR_MS, familiar_ms: HOUR_MS };
const MOST_KEPT = 10_000;

interface Kept {
  principal: Identity | null;
  at: number;
}

interface CacheOptions {
  now?: () => number;
  /** Called each time a provider has confirmed a principal again. */
  on_seen?: (principal: Identity) => void;
  lasting?: Lasting;
  /** The refusal message while no provider answers. */
  unreachable_message?: string;
}

/**
 * Caches the providers' answers for tokens, by a keyed hash of the token: by default 5 minutes if it is valid, 30 seconds if
 * not. Simultaneous requests cause only one question. While the providers are down or limit requests, a token that was valid
 * within the last hour is still accepted.
 */
export function createCachedIdentity(
  providers: readonly IdentityCheck[],
  {
    now = () => performance.now(),
    on_seen,
    lasting: { positive_ms, negative_ms, stale_ms, familiar_ms } = LASTING,
    unreachable_message = 'The identity provider is unreachable; try again shortly',
  }: CacheOptions = {},
): CachedIdentity {
  const secret = createSecretKey(randomBytes(32));
  const cache = new LRUCache<string, Kept>({ max: MOST_KEPT });
  const asking = new Map<string, Promise<Identity | null>>();

  async function ask(hash: string, access_token: string): Promise<Identity | null> {
    try {
      const principal = await firstToVouch(providers, access_token);
      cache.set(hash, { principal, at: now() });
      if (principal) on_seen?.(principal);
      return principal;
    } catch (error) {
      const entry = cache.get(hash);
      if (entry?.principal && isLasting(entry.principal) && now() - entry.at < stale_ms) return entry.principal;
      if (isIdentityLimited(error)) throw error;
      throw new AppError('unavailable', unreachable_message, { code: 'identity_unavailable' });
    } finally {
      asking.delete(hash);
    }
  }

  const hashToken = (access_token: string) => createHmac('sha256', secret).update(access_token).digest('base64');

  const identify: IdentityCheck = async (access_token) => {
    const hash = hashToken(access_token);
    const entry = cache.get(hash);
    const kept_ms = entry?.principal ? positive_ms : negative_ms;
    if (entry && isLasting(entry.principal) && now() - entry.at < kept_ms) return entry.principal;
    const pending = asking.get(hash) ?? ask(hash, access_token);
    asking.set(hash, pending);
    return pending;
  };
  return Object.assign(identify, {
    knows(access_token: string) {
      const entry = cache.get(hashToken(access_token));
      return entry !== undefined && now() - entry.at < (entry.principal ? familiar_ms : negative_ms);
    },
  });
}

const isLasting = (principal: Identity | null): boolean => Date.now() < (principal?.valid_until ?? Number.POSITIVE_INFINITY);

/**
 * Returns the answer of the first provider that knows the token. An unreachable provider matters only if no other one knows the
 * token.
 */
async function firstToVouch(providers: readonly IdentityCheck[], access_token: string): Promise<Identity | null> {
  let failure: unknown;
  for (const provider of providers) {
    try {
      const principal = await provider(access_token);
      if (principal) return principal;
    } catch (error) {
      failure = error;
    }
  }
  if (failure) throw failure;
  return null;
}
