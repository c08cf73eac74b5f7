import { conflict } from '../../domain/errors.ts';
import type { Dispatch } from '../../temporal/start/orders.ts';

const HALTING_MS = 10_000;
const LOOK_EVERY_MS = 100;

/** Halts the tasks that `listLive` names, the newest first, until there are none. Throws the refusal if that takes long. */
export async function haltAll(
  dispatch: Pick<Dispatch, 'halt'>,
  listLive: () => Promise<string[]>,
  refusal: string,
): Promise<void> {
  const halted = new Set<string>();
  const until = performance.now() + HALTING_MS;
  for (let live_ids = await listLive(); live_ids.length > 0; live_ids = await listLive()) {
    if (performance.now() > until) throw conflict(refusal, 'workflow_running');
    // A new prompt may arrive in the meantime.
    for (const task_id of live_ids
      .toSorted()
      .reverse()
      .filter((id) => !halted.has(id))) {
      halted.add(task_id);
      await dispatch.halt(task_id);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
