import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { AppError } from '../domain/errors.ts';
import type { Principal } from '../store/principals.ts';

/** Null: the token is not valid. Throws if that cannot be determined. */
export type IdentityCheck = (access_token: string) => Promise<Principal | null>;

/** An identity check that knows whether it would have to ask a provider. */
export interface CachedIdentity extends IdentityCheck {
  /** Whether the answer for a token is cached, or the token was valid a short time ago. */
  knows(access_token: string): boolean;
}

const POSITIVE_MS = 5 * 60_000;
const NEGATIVE_MS = 30_000;
const STALE_MS = 60 * 60_000;
const MOST_KEPT = 10_000;

interface Kept {
  principal: Principal | null;
  at: number;
}

interface CacheOptions {
  now?: () => number;
  /** Called each time a provider has confirmed a principal again. */
  on_seen?: (principal: Principal) => void;
}

/**
 * Caches the providers' answer for a token, by its keyed hash: 5 minutes if it is valid, 30 seconds if not. Asks only once for
 * simultaneous requests. While the providers are down, a token that was valid within the last hour is still accepted.
 */
export function cachedIdentity(
  providers: readonly IdentityCheck[],
  { now = () => performance.now(), on_seen }: CacheOptions = {},
): CachedIdentity {
  const secret = createSecretKey(randomBytes(32));
  const kept = new Map<string, Kept>();
  const asking = new Map<string, Promise<Principal | null>>();

  async function ask(hash: string, access_token: string): Promise<Principal | null> {
    try {
      const principal = await firstToVouch(providers, access_token);
      if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value as string);
      kept.set(hash, { principal, at: now() });
      if (principal) on_seen?.(principal);
      return principal;
    } catch {
      const known = kept.get(hash);
      if (known?.principal && now() - known.at < STALE_MS) return known.principal;
      throw new AppError('unavailable', 'The identity provider is unreachable; try again shortly', {
        code: 'identity_unavailable',
      });
    } finally {
      asking.delete(hash);
    }
  }

  const hashOf = (access_token: string) => createHmac('sha256', secret).update(access_token).digest('base64');

  const identify: IdentityCheck = async (access_token) => {
    const hash = hashOf(access_token);
    const known = kept.get(hash);
    if (known && now() - known.at < (known.principal ? POSITIVE_MS : NEGATIVE_MS)) return known.principal;
    const pending = asking.get(hash) ?? ask(hash, access_token);
    asking.set(hash, pending);
    return pending;
  };
  return Object.assign(identify, {
    knows(access_token: string) {
      const known = kept.get(hashOf(access_token));
      return known !== undefined && now() - known.at < (known.principal ? STALE_MS : NEGATIVE_MS);
    },
  });
}

/** The first provider that knows the token. One that is down matters only if no other vouches for it. */
async function firstToVouch(providers: readonly IdentityCheck[], access_token: string): Promise<Principal | null> {
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
