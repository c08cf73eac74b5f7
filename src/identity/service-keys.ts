import { type Authority, isServiceKey } from '../domain/access.ts';
import type { KnownKey } from '../store/service-keys.ts';
import type { CachedIdentity, Identity } from './cached-identity.ts';
import { withOwnTokens } from './own-tokens.ts';

export const withServiceKeys = (
  others: CachedIdentity,
  known: (key: string) => Promise<KnownKey | null>,
  now?: () => number,
): CachedIdentity =>
  withOwnTokens(others, {
    isOne: isServiceKey,
    async check(key) {
      const found = await known(key);
      return found && identityOf(found);
    },
    unreachable: 'Service keys cannot be checked now; try again shortly',
    now,
  });

function identityOf({ id, owner, owner_login, role, scopes, expires_at }: KnownKey): Identity {
  const [provider = '', ...subject] = owner.split(':');
  return { provider, subject: subject.join(':'), login: owner_login, service_key: { id, role, scopes, expires_at } };
}

export interface ServiceKeyRights extends Authority {
  id: string;
  expires_at: Date | null;
}
