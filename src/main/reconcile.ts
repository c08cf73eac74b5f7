import type { Store } from '../store/index.ts';
import type { Schedules } from '../temporal/schedules.ts';

export interface Reconciled {
  saved: string[];
  removed: string[];
}

/** The rows are the truth: what the engine has otherwise is made like them, what it has beyond them is removed. */
export async function reconcileSchedules(store: Pick<Store, 'scheduledAgents'>, schedules: Schedules): Promise<Reconciled> {
  const rows = await store.scheduledAgents.all();
  const known = await schedules.overview(rows);
  const saved: string[] = [];
  for (const schedule of rows) {
    // The overview may be a moment old, so what looks different in it is looked at closely.
    if (known.get(schedule.id) || (await schedules.matches(schedule))) continue;
    await schedules.save(schedule);
    saved.push(schedule.id);
  }
  const removed: string[] = [];
  for (const id of known.keys()) {
    // Asked anew: it may have been created since the rows were read.
    if (rows.some((row) => row.id === id) || (await store.scheduledAgents.find(id))) continue;
    await schedules.remove(id);
    removed.push(id);
  }
  return { saved, removed };
}

/** Workspaces of runs that ended on another machine, or with the worker that had them. */
export async function reconcileWorkspaces(
  store: Pick<Store, 'tasks'>,
  workspaces: { kept(): Promise<string[]>; remove(task_id: string): Promise<void> },
): Promise<void> {
  const kept = await workspaces.kept();
  for (const task_id of await store.tasks.ended(kept)) await workspaces.remove(task_id);
}
