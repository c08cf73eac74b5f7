import { type Memory, memories } from '../contracts/memories.ts';
import type { FieldError } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';
import { mountCrud, type SharedWrite } from './crud.ts';
import { type Api, mount } from './mount.ts';
import { unknownReferences } from './references.ts';

const NEWEST = 20;

export function memoryRoutes(api: Api, { store }: { store: Store }, shared_write: SharedWrite): void {
  mountCrud(api, memories, {
    store: store.memories,
    shared_write,
    check: async (values) => [
      ...homeErrors(values),
      ...(await unknownReferences(store, values, { agent_id: 'agent', workflow_id: 'workflow' })),
    ],
  });
  mount(api, memories.search, ({ body }) => store.memories.search(body));
  mount(api, memories.stm, ({ params: { agent_id } }) => store.memories.newest(agent_id, { limit: NEWEST }));
}

/** A session memory belongs to a workflow, the others to none. */
function homeErrors({ scope, workflow_id }: Partial<Memory>): FieldError[] {
  if (scope === 'session' && !workflow_id)
    return [{ path: 'workflow_id', message: 'A memory of scope session needs its workflow' }];
  if (scope && scope !== 'session' && workflow_id)
    return [{ path: 'workflow_id', message: `A memory of scope ${scope} belongs to no workflow` }];
  return [];
}
