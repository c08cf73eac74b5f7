import { keys, MOST_KEYS, type ServiceKey } from '../../contracts/keys.ts';
import type { CallerRole, Scope } from '../../domain/access.ts';
import { isWithin, SCOPES_OF } from '../../domain/access.ts';
import { AppError, conflict, type FieldError, foreign, notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import type { PresentedKey } from '../../store/people/service-keys.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

const NOUN = 'service key';

/** The scopes of a key if its creator names none. */
const ORDINARY: readonly Scope[] = ['read', 'run', 'write'];

/** Mounts service keys, which belong to their owner. An administrator may only see and delete them. */
export function keyRoutes(api: Api, { store: { serviceKeys: store } }: { store: Pick<Store, 'serviceKeys'> }): void {
  const one = async (id: string, mine: (owner: string) => boolean): Promise<ServiceKey> => {
    const target_key = await store.find(id);
    if (!target_key) throw notFound(NOUN, id);
    if (!mine(target_key.owner)) throw foreign(NOUN);
    return target_key;
  };
  const own = (id: string, { key }: Caller) => one(id, (owner) => owner === key);
  const ownOrAdmin = (id: string, { key, is_admin }: Caller) => one(id, (owner) => is_admin || owner === key);

  /**
   * Throws if a service key rotates a key other than itself and the keys made with it. The new key lives as long as the old one,
   * so a key must not prolong its life through another.
   */
  async function refuseUnrelated(target_key: ServiceKey, { service_key }: Caller): Promise<void> {
    if (!service_key || target_key.id === service_key.id || (await store.wasMadeWith(target_key, service_key.id))) return;
    throw new AppError(
      'forbidden',
      'A service key may rotate only itself and the keys made with it; sign in yourself to rotate this one',
      { code: 'key_not_yours_to_rotate' },
    );
  }

  mount(api, keys.list, ({ query }, { key, is_admin }) => store.list({ ...query, owner: is_admin ? null : key }));
  mount(api, keys.get, ({ params: { id } }, caller) => ownOrAdmin(id, caller));
  mount(api, keys.create, async ({ body: { name, role, scopes, expires_at } }, caller) => {
    const values = {
      role,
      scopes: [...new Set(scopes ?? ORDINARY.filter((scope) => SCOPES_OF[role].includes(scope)))],
      expires_at,
    };
    const errors = listKeyErrors(values, caller);
    if (errors.length > 0) throw unprocessable(errors);
    if ((await store.countOwned(caller.key)) >= MOST_KEYS)
      throw conflict(`You have ${MOST_KEYS} service keys, the most that one person may have; delete one first`, 'keys_limit');
    const { key: owner, login: owner_login } = caller;
    return store.create({ name, ...values, owner, owner_login }, toPresentedKey(caller));
  });
  mount(api, keys.rotate, async ({ params: { id }, body: { grace_seconds } }, caller) => {
    const target_key = await own(id, caller);
    refuseStronger(target_key, caller);
    await refuseUnrelated(target_key, caller);
    if (target_key.expires_at && Date.parse(target_key.expires_at) <= Date.now())
      throw conflict('This service key has expired; create a new one', 'key_expired');
    return store.rotate(id, new Date(Date.now() + grace_seconds * 1_000), toPresentedKey(caller));
  });
  mount(
    api,
    keys.remove,
    async ({ params: { id } }, caller) => {
      refuseStronger(await ownOrAdmin(id, caller), caller);
      await store.remove(id);
    },
    { current: async ({ params: { id } }, caller) => toReply(keys.get.reply, await ownOrAdmin(id, caller)) },
  );
}

const toPresentedKey = ({ service_key, access_token }: Caller): PresentedKey | null =>
  service_key ? { id: service_key.id, key: access_token } : null;

interface Asked {
  role: CallerRole;
  scopes: readonly Scope[];
  expires_at: string | null;
}

/** Lists errors of a key that would have more rights, or a longer life, than its creator. */
function listKeyErrors({ role, scopes, expires_at }: Asked, caller: Caller): FieldError[] {
  const errors: FieldError[] = [];
  if (!isWithin({ role, scopes: [] }, caller)) errors.push({ path: 'role', message: `\`role\` is above yours, ${caller.role}` });
  for (const scope of scopes) {
    if (!SCOPES_OF[role].includes(scope))
      errors.push({ path: 'scopes', message: `\`scopes\`: the role ${role} does not have ${scope}` });
    else if (!caller.scopes.includes(scope)) errors.push({ path: 'scopes', message: `\`scopes\`: you do not have ${scope}` });
  }
  const ends = expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at);
  if (ends <= Date.now()) errors.push({ path: 'expires_at', message: '`expires_at` is in the past' });
  const latest = caller.service_key?.expires_at;
  if (latest && ends > latest.getTime())
    errors.push({
      path: 'expires_at',
      message: `\`expires_at\` must not be after ${latest.toISOString()}, when your own key expires`,
    });
  return errors;
}

/** Throws if a key would replace or remove a key with more rights. */
function refuseStronger(target_key: ServiceKey, caller: Caller): void {
  if (caller.service_key && !isWithin(target_key, caller))
    throw new AppError('forbidden', 'This service key may more than the one you use; sign in yourself to change it');
}
