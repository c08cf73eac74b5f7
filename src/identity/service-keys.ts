import { type Authority, isServiceKey } from '../domain/access.ts';
import type { KnownKey } from '../store/service-keys.ts';
import { type CachedIdentity, cachedIdentity, type Identity } from './cached-identity.ts';

/** How long an answer about a key is kept: a deleted key stops working within this time. */
const KEPT_MS = 2_000;
/** How long a key that was valid is not counted as a sign-in: many requests may use it at once. */
const FAMILIAR_MS = 60 * 60_000;

/** Service keys are looked up here and never sent to an identity provider; all other access tokens are `people`'s. */
export function withServiceKeys(
  people: CachedIdentity,
  known: (key: string) => Promise<KnownKey | null>,
  now?: () => number,
): CachedIdentity {
  const check = async (key: string) => {
    const found = await known(key);
    return found && identityOf(found);
  };
  const keys = cachedIdentity([check], {
    lasting: { positive_ms: KEPT_MS, negative_ms: KEPT_MS, stale_ms: KEPT_MS, familiar_ms: FAMILIAR_MS },
    unreachable: 'Service keys cannot be checked now; try again shortly',
    ...(now && { now }),
  });
  const of = (access_token: string) => (isServiceKey(access_token) ? keys : people);
  return Object.assign((access_token: string) => of(access_token)(access_token), {
    knows: (access_token: string) => of(access_token).knows(access_token),
  });
}

function identityOf({ id, owner, owner_login, role, scopes, expires_at }: KnownKey): Identity {
  const [provider = '', ...subject] = owner.split(':');
  return { provider, subject: subject.join(':'), login: owner_login, service_key: { id, role, scopes, expires_at } };
}

export interface ServiceKeyRights extends Authority {
  id: string;
  expires_at: Date | null;
}
