import { me } from '../../contracts/me.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { type Api, mount } from '../http/mount.ts';

export function meRoutes(api: Api, { store: { settings } }: { store: Pick<Store, 'settings'> }): void {
  mount(api, me.get, async (_, { key: id, provider, subject, login, is_admin, role, scopes, service_key }) => ({
    id,
    provider,
    subject,
    login,
    is_admin,
    role,
    scopes: [...scopes],
    service_key_id: service_key?.id ?? null,
  }));
  mount(api, me.settings, (_, { key }) => settings.read(key));
  const current = (_: unknown, { key }: Caller) => settings.read(key);
  mount(api, me.changeSettings, ({ body }, { key }) => settings.change(key, body), { current });
}
