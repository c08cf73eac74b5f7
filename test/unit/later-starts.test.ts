import { expect, it } from 'vitest';
import { CALLER_ROLES, type CallerRole } from '../../src/domain/access.ts';
import { laterStarts } from '../../src/identity/later-starts.ts';
import { authorities } from '../../src/identity/roles.ts';

const MAY_NOT = 'The role of the owner of this schedule does not have the scope run, so it starts no runs';

/** The refusal of a schedule whose owner's issuer named this role at the last sign-in. */
const refusalOf = (
  claimed_role: CallerRole | null,
  { claims_roles, others }: { claims_roles: boolean; others: 'viewer' | 'editor' },
) =>
  laterStarts({
    principal: async () => ({ provider: 'oidc', subject: 's', login: 'ann', claimed_role }),
    findKey: async () => null,
    identify: async () => null,
    authorityOf: authorities({ administrators: [], viewers: [], editors: [], others }),
    providers: [],
    claims_roles,
  })({ owner: 'oidc:s', service_key_id: null, access_token: null }, { noun: 'schedule', uses_token: false });

it.each([...CALLER_ROLES, null])('the claimed role %s decides only if the installation takes roles from tokens', async (role) => {
  const refused = (who: CallerRole) => (who === 'viewer' ? MAY_NOT : null);
  for (const others of ['viewer', 'editor'] as const) {
    expect(await refusalOf(role, { claims_roles: true, others })).toBe(refused(role ?? others));
    expect(await refusalOf(role, { claims_roles: false, others })).toBe(refused(others));
  }
});
