import type { CallerRole } from '../domain/access.ts';
import { isThreadToken } from '../domain/access.ts';
import type { KnownThreadToken } from '../store/people/thread-tokens.ts';
import type { CachedIdentity, Identity } from './cached-identity.ts';
import { toPerson, withOwnTokens } from './own-tokens.ts';

interface ThreadTokens {
  findToken(token: string): Promise<KnownThreadToken | null>;
  /** The role that the issuer named at the owner's last sign-in; null: none, or roles are not taken from tokens. */
  claimedRole(owner: string): Promise<CallerRole | null>;
  now?: () => number;
}

export const withThreadTokens = (others: CachedIdentity, { findToken, claimedRole, now }: ThreadTokens): CachedIdentity =>
  withOwnTokens(others, {
    isOne: isThreadToken,
    async check(token) {
      const known = await findToken(token);
      return known && toIdentity(known, await claimedRole(known.owner));
    },
    unreachable_message: 'Tokens of threads cannot be checked now; try again shortly',
    now,
  });

function toIdentity(token: KnownThreadToken, claimed_role: CallerRole | null): Identity {
  const { thread_id, origins, scopes, expires_at, service_key_id, key_role } = token;
  const role = (key_role ?? 'editor') as CallerRole;
  return {
    ...toPerson(token, claimed_role),
    ...(service_key_id ? { service_key: { id: service_key_id, role, scopes, expires_at } } : {}),
    thread_token: { thread_id, origins, role, scopes },
    valid_until: expires_at.getTime(),
  };
}
