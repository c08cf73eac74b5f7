import { runInspection } from '../../contracts/run-inspection.ts';
import { AppError } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { ownedTask } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';
import type { StepRequestOf } from '../ports.ts';

interface Services {
  store: Store;
  requestOf: StepRequestOf;
}

/** What a run did, and what its model was sent. */
export function runInspectionRoutes(api: Api, { store, requestOf }: Services): void {
  const owned = ownedTask(store);
  mount(api, runInspection.timeline, async ({ params: { id } }, caller) => {
    await owned(id, caller);
    return store.inspection.timeline(id);
  });
  mount(api, runInspection.step, async ({ params: { id, step } }, caller) => {
    const { steps } = await owned(id, caller);
    const [found] = await store.inspection.steps(id, Number(step));
    if (!found) throw new AppError('not_found', `This run has no step ${step}; it has reached step ${steps}`);
    return found;
  });
  mount(api, runInspection.request, async ({ params: { id, step } }, caller) =>
    requestOf(await owned(id, caller), Number(step), caller),
  );
}
