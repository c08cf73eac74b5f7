import { me } from '../contracts/me.ts';
import { type Api, mount } from './mount.ts';

export function meRoutes(api: Api): void {
  mount(api, me.get, async (_, { key: id, provider, subject, login, is_admin }) => ({ id, provider, subject, login, is_admin }));
}
