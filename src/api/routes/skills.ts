import { skills } from '../../contracts/skills.ts';
import type { Store } from '../../store/index.ts';
import { mountCrud, type SharedWrite } from '../http/crud.ts';
import type { Api } from '../http/mount.ts';

export function skillRoutes(api: Api, { store }: { store: Store }, shared_write: SharedWrite): void {
  mountCrud(api, skills, {
    store: store.skills,
    list: (query) => store.skills.list(query),
    shared_write,
    users: ({ id }, { key }) => store.usersOf('skill', id, key),
  });
}
