import { scores } from '../../contracts/scores.ts';
import { notFound } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { getOwnTask, getOwnWorkflow } from '../checks/owned.ts';
import { createOnce } from '../http/crud.ts';
import { type Api, mount } from '../http/mount.ts';

export function scoreRoutes(api: Api, { store }: { store: Store }): void {
  const task = getOwnTask(store);
  mount(api, scores.list, async ({ params: { id }, query }, caller) => store.scores.list((await task(id, caller)).id, query));
  mount(api, scores.create, async ({ params, body, reserved_id: id }, caller) => {
    const { id: task_id } = await task(params.id, caller);
    const values = { ...body, task_id, created_by: caller.key, ...(id ? { id } : {}) };
    return createOnce(id, store.scores.find, () => store.scores.create(values));
  });
  mount(api, scores.remove, async ({ params: { id, score_id } }, caller) => {
    await task(id, caller);
    if (!(await store.scores.remove(id, score_id))) throw notFound('score of this run', score_id);
  });
  mount(api, scores.byVersion, async ({ params: { id } }, caller) => {
    await getOwnWorkflow(store)(id, caller);
    return store.scores.listByVersion(id);
  });
}
