import type { CallerRole } from '../domain/access.ts';
import { type CachedIdentity, createCachedIdentity, type Identity, type IdentityCheck } from './cached-identity.ts';

/** How long an answer is cached: a deleted token stops working within this time. */
const KEPT_MS = 2_000;
/** How long a valid token does not count as a new sign-in: many requests may use it at once. */
const FAMILIAR_MS = 60 * 60_000;

interface OwnTokens {
  isOne(access_token: string): boolean;
  check: IdentityCheck;
  /** The refusal message while tokens cannot be checked. */
  unreachable_message: string;
  now?: (() => number) | undefined;
}

/** Checks tokens that this installation made, and never sends them to an identity provider. All other tokens go to `others`. */
export function withOwnTokens(others: CachedIdentity, { isOne, check, unreachable_message, now }: OwnTokens): CachedIdentity {
  const own = createCachedIdentity([check], {
    lasting: { positive_ms: KEPT_MS, negative_ms: KEPT_MS, stale_ms: KEPT_MS, familiar_ms: FAMILIAR_MS },
    unreachable_message,
    ...(now && { now }),
  });
  const of = (access_token: string) => (isOne(access_token) ? own : others);
  return Object.assign((access_token: string) => of(access_token)(access_token), {
    knows: (access_token: string) => of(access_token).knows(access_token),
  });
}

/** Returns the owner of a token as the person that the caller is. */
export function toPerson(
  { owner, owner_login }: { owner: string; owner_login: string },
  claimed_role: CallerRole | null,
): Pick<Identity, 'provider' | 'subject' | 'login' | 'claimed_role'> {
  const [provider = '', ...subject] = owner.split(':');
  return { provider, subject: subject.join(':'), login: owner_login, ...(claimed_role ? { claimed_role } : {}) };
}
