import { audit } from '../../contracts/audit.ts';
import type { Store } from '../../store/index.ts';
import { type Api, mount } from '../http/mount.ts';

export function auditRoutes(api: Api, { store }: { store: Pick<Store, 'audit'> }): void {
  mount(api, audit.list, ({ query }) => store.audit.list(query));
}
