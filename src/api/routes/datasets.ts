import { type BundledItem, datasets, type ItemCall } from '../../contracts/datasets.ts';
import { notFound, unprocessable } from '../../domain/errors.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';
import { getOwnDataset, getOwnTask } from '../checks/owned.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, type Gates, mount } from '../http/mount.ts';
import { toReply } from '../http/validate.ts';

interface Services {
  store: Store;
  /** Throws if a write would exceed the caller's storage quota. */
  admitBytes: Gates['admitBytes'];
}

export function datasetRoutes(api: Api, services: Services): void {
  const { store } = services;
  const getOwn = getOwnDataset(store);
  const current = async ({ params }: { params: unknown }, caller: Caller) =>
    toReply(datasets.get.reply, await getOwn((params as { id: string }).id, caller));

  mount(api, datasets.list, ({ query }, caller) => store.datasets.list(query, caller.key));
  mount(api, datasets.get, ({ params: { id } }, caller) => getOwn(id, caller));
  mount(api, datasets.create, ({ body, reserved_id: id }, caller) => {
    const values = { ...body, created_by: caller.key, ...(id ? { id } : {}) };
    return createOnce(id, store.datasets.find, () => store.datasets.create(values));
  });
  mount(
    api,
    datasets.update,
    async ({ params: { id }, body }, caller) => {
      await getOwn(id, caller);
      return store.datasets.update(id, body);
    },
    { current },
  );
  mount(
    api,
    datasets.remove,
    async ({ params: { id } }, caller) => {
      await getOwn(id, caller);
      await store.datasets.remove(id);
    },
    { current },
  );
  itemRoutes(api, services);
}

function itemRoutes(api: Api, { store, admitBytes }: Services): void {
  const getOwn = getOwnDataset(store);
  mount(api, datasets.items, async ({ params: { id }, query }, caller) => {
    await getOwn(id, caller);
    return store.datasets.items(id, query);
  });
  mount(api, datasets.addItem, async ({ params, body, reserved_id: id }, caller) => {
    const { id: dataset_id } = await getOwn(params.id, caller);
    return createOnce(id, store.datasets.findItem, async () => {
      const { task_id, ...given } = body;
      const source = task_id === undefined ? NO_RUN : await loadSource(store, task_id, caller);
      await admitBytes(caller.key, Buffer.byteLength(JSON.stringify(source)));
      const { prompt = source.prompt, expected = source.expected } = given;
      const { calls, source_task_id } = source;
      const values = { dataset_id, prompt, expected, calls, source_task_id, created_by: caller.key };
      return store.datasets.addItem({ ...values, id });
    });
  });
  mount(api, datasets.importBundle, async ({ params, body, reserved_id: id }, caller) => {
    const { id: dataset_id } = await getOwn(params.id, caller);
    const values = { dataset_id, ...toItem(body), source_task_id: null, created_by: caller.key, id };
    return createOnce(id, store.datasets.findItem, () => store.datasets.addItem(values));
  });
  mount(api, datasets.removeItem, async ({ params: { id, item_id } }, caller) => {
    await getOwn(id, caller);
    if (!(await store.datasets.removeItem(id, item_id))) throw notFound('item of this dataset', item_id);
  });
}

interface Source {
  prompt: string;
  expected: unknown;
  calls: ItemCall[];
  source_task_id: string | null;
}

const NO_RUN: Source = { prompt: '', expected: null, calls: [], source_task_id: null };

async function loadSource(store: Store, task_id: string, caller: Caller): Promise<Source> {
  const task = await store.tasks.find(task_id);
  if (!task) throw unprocessable([{ path: 'task_id', message: `No task with id ${task_id}` }]);
  const { prompt, response: expected } = await getOwnTask(store)(task_id, caller);
  return { prompt, expected, calls: await store.datasets.listRecordedCalls(task_id), source_task_id: task_id };
}

const toItem = ({ task: { prompt }, end, steps }: BundledItem) => ({
  prompt,
  expected: end.response,
  calls: steps.flatMap(({ tool_calls }) =>
    tool_calls.flatMap(({ name, arguments: args, status, failed, result, answered_by }) =>
      status === 'done' && result !== null && (answered_by ?? 'recorded') === 'recorded'
        ? [{ name, arguments: args, content: result, failed: failed ?? false }]
        : [],
    ),
  ),
});
