import { runInspection } from '../../contracts/run-inspection.ts';
import { AppError } from '../../domain/errors.ts';
import type { Store } from '../../store/index.ts';
import { getOwnTask } from '../checks/owned.ts';
import { type Api, mount } from '../http/mount.ts';
import type { StepRequestBuilder } from '../ports.ts';

interface Services {
  store: Store;
  buildStepRequest: StepRequestBuilder;
}

/** Mounts the inspection of a run: its steps, and the requests that its model was sent. */
export function runInspectionRoutes(api: Api, { store, buildStepRequest }: Services): void {
  const getOwn = getOwnTask(store);
  mount(api, runInspection.timeline, async ({ params: { id } }, caller) => {
    await getOwn(id, caller);
    return store.inspection.timeline(id);
  });
  mount(api, runInspection.step, async ({ params: { id, step } }, caller) => {
    const { steps } = await getOwn(id, caller);
    const [step_detail] = await store.inspection.steps(id, Number(step));
    if (!step_detail) throw new AppError('not_found', `This run has no step ${step}; it has reached step ${steps}`);
    return step_detail;
  });
  mount(api, runInspection.request, async ({ params: { id, step } }, caller) =>
    buildStepRequest(await getOwn(id, caller), Number(step), caller),
  );
}
