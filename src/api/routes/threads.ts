import { threads } from '../../contracts/threads.ts';
import { unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { getOwnThread, refuseForeignWorkflow, refuseWithoutThreads } from '../checks/owned.ts';
import { createRunWorkflow } from '../compat/runs.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

interface Services {
  store: Store;
}

export function threadRoutes(api: Api, { store }: Services): void {
  const getOwn = getOwnThread(store);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(threads.get.reply, await getOwn((params as { id: string }).id, caller));

  mount(api, threads.list, ({ query }, caller) => store.threads.list({ ...query, owner: caller.key }));
  mount(api, threads.get, ({ params: { id } }, caller) => getOwn(id, caller));
  mount(api, threads.create, ({ body: { workflow_id, agent_id, ...values }, reserved_id: id }, caller) =>
    createOnce(id, store.threads.find, async () => {
      if (workflow_id) refuseWithoutThreads(await refuseForeignWorkflow(store, workflow_id, caller), 'workflow_id');
      const home = workflow_id ?? (await createHome(store, agent_id!, caller));
      return store.threads.create({ ...values, id, workflow_id: home, owner: caller.key, owner_login: caller.login });
    }),
  );
  mount(
    api,
    threads.update,
    async ({ params: { id }, body }, caller) => {
      await getOwn(id, caller);
      return store.threads.update(id, body);
    },
    { current },
  );
  mount(
    api,
    threads.remove,
    async ({ params: { id } }, caller) => {
      await getOwn(id, caller);
      await store.threads.remove(id);
    },
    { current },
  );
}

/** Creates the workflow in which the turns of a thread with an agent run. */
async function createHome(store: Store, agent_id: string, caller: Caller): Promise<string> {
  const agent = await store.agents.find(agent_id);
  if (!agent) throw unprocessable([{ path: 'agent_id', message: `No agent with id ${agent_id}` }]);
  return createRunWorkflow(store, agent, { caller, remember: 'thread' });
}
