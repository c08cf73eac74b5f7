import { inbox } from '../../contracts/inbox.ts';
import type { Store } from '../../store/index.ts';
import { type Api, mount } from '../http/mount.ts';

export function inboxRoutes(api: Api, { store }: { store: Pick<Store, 'inbox'> }): void {
  mount(api, inbox.list, ({ query }, caller) => store.inbox.list({ ...query, owner: caller.key }));
}
