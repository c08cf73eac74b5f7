import type { CallerRole } from '../domain/access.ts';
import { type Authority, lowerRole, SCOPES_OF } from '../domain/access.ts';
import type { Identity } from './cached-identity.ts';

/**
 * The people of each role. Administrators are matched first, then viewers, then editors, then the roles of the access token;
 * everyone else has the default.
 */
export interface RoleSettings {
  administrators: readonly string[];
  viewers: readonly string[];
  editors: readonly string[];
  others: Exclude<CallerRole, 'administrator'>;
}

/** Returns the rights of an access token's owner. */
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
  return ({ provider, subject, claimed_role, service_key, thread_token }) => {
    const owner = findListedRole(`${provider}:${subject}`) ?? claimed_role ?? others;
    const bounds = thread_token ?? service_key;
    if (!bounds) return { role: owner, scopes: SCOPES_OF[owner] };
    const role = lowerRole(owner, bounds.role);
    return { role, scopes: bounds.scopes.filter((scope) => SCOPES_OF[role].includes(scope)) };
  };
}
