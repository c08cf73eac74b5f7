import { type Memory, memories } from '../../contracts/memories.ts';
import { AppError, type FieldError, foreign } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { listReferenceErrors } from '../checks/references.ts';
import { mountCrud, type SharedWrite } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';

const NEWEST = 20;

export function memoryRoutes(api: Api, { store }: { store: Store }, shared_write: SharedWrite): void {
  mountCrud(api, memories, {
    store: store.memories,
    shared_write,
    list: (query, caller) => store.memories.list(query, caller),
    async check(values, caller) {
      const errors = [
        ...listHomeErrors(values),
        ...(await listReferenceErrors(store, values, { agent_id: 'agent', workflow_id: 'workflow' })),
      ];
      if (errors.length === 0) await requireOwnHome(store, values, caller);
      return errors;
    },
    maySee: (memory, caller) => mayRead(store, memory, caller),
    mayWrite: (memory, caller) => mayWrite({ store, shared_write }, memory, caller),
  });
  mount(api, memories.search, async ({ body }, caller) => {
    await requireOwnHome(store, body, caller);
    return store.memories.search({ ...body, viewer: caller.key });
  });
  mount(api, memories.stm, ({ params: { agent_id } }, { key: viewer }) =>
    store.memories.newest({ agent_id, viewer, limit: NEWEST }),
  );
}

/**
 * Throws unless the caller may read the memory: a run's memory belongs to its owner and is open to administrators; a session
 * memory belongs to the workflow's owner.
 */
async function mayRead(store: Store, memory: Memory, caller: Caller): Promise<void> {
  if (memory.owner !== null && memory.owner !== caller.key && !caller.is_admin) throw foreign('memory');
  await requireOwnHome(store, memory, caller);
}

type Placed = Pick<Memory, 'scope' | 'agent_id'> & { owner?: string | null };

/**
 * Throws unless the caller may also change the agent, or is an administrator: a memory reaches the models of other people's runs.
 */
async function mayWrite(
  { store, shared_write }: { store: Store; shared_write: SharedWrite },
  { scope, agent_id, owner = null }: Placed,
  caller: Caller,
): Promise<void> {
  if (scope === 'session' || owner === caller.key || caller.is_admin || shared_write === 'everyone') return;
  if (scope === 'global')
    throw new AppError('forbidden', 'A global memory reaches the runs of every agent; ask an administrator to write it');
  const agent = await store.agents.find(agent_id);
  if (agent?.created_by === caller.key) return;
  throw new AppError(
    'forbidden',
    'A memory of an agent reaches everyone who runs it, and this agent was created by someone else; ask them or an administrator to write it',
  );
}

/** Throws 403 unless the caller owns the memory's workflow; throws for everyone once the workflow is deleted. */
async function requireOwnHome(store: Store, { workflow_id }: { workflow_id?: unknown }, caller: Caller): Promise<void> {
  if (typeof workflow_id !== 'string') return;
  if ((await store.workflows.findOwner(workflow_id)) !== caller.key) throw foreign('workflow');
}

/** Returns an error unless a session memory has a workflow and the other scopes have none. */
function listHomeErrors({ scope, workflow_id }: Partial<Memory>): FieldError[] {
  if (scope === 'session' && !workflow_id)
    return [
      {
        path: 'workflow_id',
        message: 'A memory of scope session belongs to one workflow: send its id as `workflow_id`, or another `scope`',
      },
    ];
  if (scope && scope !== 'session' && workflow_id)
    return [{ path: 'workflow_id', message: `A memory of scope ${scope} has no workflow; leave workflow_id out` }];
  return [];
}
