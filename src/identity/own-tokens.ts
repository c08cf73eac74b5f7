import { type CachedIdentity, createCachedIdentity, type IdentityCheck } from './cached-identity.ts';

/** How long an answer is kept: a token that was deleted stops working within this time. */
const KEPT_MS = 2_000;
/** How long a token that was valid is not counted as a sign-in: many requests may use it at once. */
const FAMILIAR_MS = 60 * 60_000;

interface OwnTokens {
  isOne(access_token: string): boolean;
  check: IdentityCheck;
  /** The refusal while they cannot be checked. */
  unreachable: string;
  now?: (() => number) | undefined;
}

/** Tokens that this installation made are looked up here and never sent to an identity provider; all others are `others`'. */
export function withOwnTokens(others: CachedIdentity, { isOne, check, unreachable, now }: OwnTokens): CachedIdentity {
  const own = createCachedIdentity([check], {
    lasting: { positive_ms: KEPT_MS, negative_ms: KEPT_MS, stale_ms: KEPT_MS, familiar_ms: FAMILIAR_MS },
    unreachable,
    ...(now && { now }),
  });
  const of = (access_token: string) => (isOne(access_token) ? own : others);
  return Object.assign((access_token: string) => of(access_token)(access_token), {
    knows: (access_token: string) => of(access_token).knows(access_token),
  });
}
