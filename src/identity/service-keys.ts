import type { CallerRole } from '../domain/access.ts';
import { isServiceKey } from '../domain/access.ts';
import type { KnownKey } from '../store/people/service-keys.ts';
import type { CachedIdentity, Identity } from './cached-identity.ts';
import { toPerson, withOwnTokens } from './own-tokens.ts';

interface ServiceKeys {
  findKey(key: string): Promise<KnownKey | null>;
  /** The role that the issuer named at the owner's last sign-in; null: none, or roles are not taken from tokens. */
  claimedRole(owner: string): Promise<CallerRole | null>;
  now?: () => number;
}

export const withServiceKeys = (others: CachedIdentity, { findKey, claimedRole, now }: ServiceKeys): CachedIdentity =>
  withOwnTokens(others, {
    isOne: isServiceKey,
    async check(key) {
      const service_key = await findKey(key);
      return service_key && toIdentity(service_key, await claimedRole(service_key.owner));
    },
    unreachable_message: 'Service keys cannot be checked now; try again shortly',
    now,
  });

function toIdentity({ owner, owner_login, ...key }: KnownKey, claimed_role: CallerRole | null): Identity {
  const { id, role, scopes, expires_at } = key;
  return { ...toPerson({ owner, owner_login }, claimed_role), service_key: { id, role, scopes, expires_at } };
}
