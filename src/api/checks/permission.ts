import type { Endpoint } from '../../contracts/endpoint.ts';
import { AppError } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';

/** Throws unless the caller's role and service key allow the operation. No other code compares the two. */
export function refuseUnpermitted({ access }: Pick<Endpoint, 'access'>, caller: Caller | undefined): void {
  if (access === null) return;
  const { scopes, service_key, role } = caller!;
  if (scopes.includes(access)) return;
  if (service_key)
    throw new AppError('forbidden', `This service key does not have the scope ${access}; use one that has it`, {
      code: 'scope_missing',
    });
  throw new AppError('forbidden', `Your role ${role} does not have the scope ${access}; ask an administrator for it`, {
    code: 'role_insufficient',
  });
}
