import { me } from '../../contracts/me.ts';
import type { Scope } from '../../domain/access.ts';
import { useSession } from './context.tsx';
import { useRead } from './queries.ts';

/** Returns the caller's role or the scopes of the service key; undefined until they are known. */
export function useScopes(): { role: string | undefined; scopes: readonly Scope[] | undefined; is_key: boolean } {
  const { signed_in } = useSession();
  const { data } = useRead(me.get, {}, { enabled: signed_in });
  return { role: data?.role, scopes: data?.scopes, is_key: Boolean(data?.service_key_id) };
}

/** Returns the reason why the caller may not do what needs the scope; null if they may, or if that is not known yet. */
export function useRefusal(scope: Scope | null | undefined): string | null {
  const { role, scopes, is_key } = useScopes();
  if (!scope || !scopes || scopes.includes(scope)) return null;
  return is_key
    ? `Your service key does not have the scope ${scope}`
    : `Your role ${role} does not have the scope ${scope}; ask an administrator for it`;
}
