import type { Store } from '../store/index.ts';
import type { Schedules } from '../temporal/schedules.ts';

export interface Reconciled {
  saved: string[];
  removed: string[];
}

/** The rows are the truth: what the engine has otherwise is made like them, what it has beyond them is removed. */
export async function reconcileSchedules(store: Pick<Store, 'scheduledAgents'>, schedules: Schedules): Promise<Reconciled> {
  const known = await schedules.ids();
  const rows = await store.scheduledAgents.all();
  const saved: string[] = [];
  for (const schedule of rows) {
    if (await schedules.matches(schedule)) continue;
    await schedules.save(schedule);
    saved.push(schedule.id);
  }
  const removed: string[] = [];
  for (const id of known) {
    // Asked anew: it may have been created since the rows were read.
    if (rows.some((row) => row.id === id) || (await store.scheduledAgents.find(id))) continue;
    await schedules.remove(id);
    removed.push(id);
  }
  return { saved, removed };
}
