import type { CallerRole } from '../domain/access.ts';
import { type Authority, lowerRole, SCOPES_OF } from '../domain/access.ts';
import type { Identity } from './cached-identity.ts';

/** Who has which role. Administrators count first, then viewers, then editors, then what the access token names; everyone else has the default. */
export interface RoleSettings {
  administrators: readonly string[];
  viewers: readonly string[];
  editors: readonly string[];
  others: Exclude<CallerRole, 'administrator'>;
}

/** What the owner of an access token may do. */
export type AuthorityOf = (identity: Identity) => Authority;

export function authorities({ administrators, viewers, editors, others }: RoleSettings): AuthorityOf {
  const findListedRole = (key: string): CallerRole | undefined =>
    administrators.includes(key)
      ? 'administrator'
      : viewers.includes(key)
        ? 'viewer'
        : editors.includes(key)
          ? 'editor'
          : undefined;
  return ({ provider, subject, claimed_role, service_key }) => {
    const owner = findListedRole(`${provider}:${subject}`) ?? claimed_role ?? others;
    if (!service_key) return { role: owner, scopes: SCOPES_OF[owner] };
    const role = lowerRole(owner, service_key.role);
    return { role, scopes: service_key.scopes.filter((scope) => SCOPES_OF[role].includes(scope)) };
  };
}
