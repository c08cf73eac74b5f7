import { isUuid, timeOfUuid } from '../../domain/uuid.ts';
import type { Store } from '../../store/index.ts';
import type { Schedules } from '../client/schedules.ts';
import { around } from './reconcile-tasks.ts';

interface ReconciledSchedules {
  saved: string[];
  removed: string[];
  /** Paused in the engine by hand, and now disabled on record. */
  disabled: string[];
  /** Disabled because their last runs have failed. */
  failing: string[];
}

type Rows = Pick<Store, 'scheduledAgents'>;

/**
 * The rows are the truth: schedules of the engine that differ are updated, and those without a row are removed. Only a pause is taken
 * over from the engine. Schedules whose runs keep failing are disabled, if their owners want that.
 */
export async function reconcileSchedules(store: Rows, schedules: Schedules): Promise<ReconciledSchedules> {
  const failing = await store.scheduledAgents.pauseFailing();
  const rows = await store.scheduledAgents.all();
  const overview = await schedules.overview(rows);
  const done: ReconciledSchedules = { saved: [], removed: [], disabled: [], failing };
  // Rows and overview may be slightly out of date, so a schedule that looks different is read again.
  const suspects = new Set([...overview.keys(), ...rows.map(({ id }) => id)].filter((id) => !overview.get(id)));
  for (const id of suspects) {
    const move = await alike(store, schedules, { id, known: overview.has(id) });
    if (move) done[move].push(id);
  }
  return done;
}

/** A schedule is not expected to change more often than this while it is compared. */
const MOST_LOOKS = 5;
/** A row that changed this recently may be on its way to the engine. */
const GRACE_MS = 15_000;

const PAUSED = 'Paused in Temporal; enable the schedule to continue';

/** Updates one schedule of the engine from its row, and again if the row has changed meanwhile. */
async function alike(
  { scheduledAgents }: Rows,
  schedules: Schedules,
  { id, known }: { id: string; known: boolean },
): Promise<'saved' | 'removed' | 'disabled' | null> {
  let saved = false;
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const row = await scheduledAgents.find(id);
    if (!row) {
      if (!known && !saved) return null;
      await schedules.remove(id);
      return 'removed';
    }
    if (await schedules.matches(row)) break;
    if (row.enabled && (await schedules.isPausedByHand(id)))
      return (await scheduledAgents.disableUnchanged(id, { grace_ms: GRACE_MS, reason: PAUSED })) ? 'disabled' : null;
    await schedules.save(row);
    saved = true;
  }
  return saved ? 'saved' : null;
}

/** A younger workspace without a task may belong to a record that is being restored, or to another one that uses the same folder. */
const UNKNOWN_MS = 24 * 3_600_000;

/** Workspaces of runs that ended on another machine, or with the worker that had them, and of tasks that were removed. */
export async function reconcileWorkspaces(
  store: Pick<Store, 'tasks'>,
  workspaces: { kept(): Promise<string[]>; remove(task_id: string): Promise<void> },
): Promise<void> {
  const task_ids = await workspaces.kept();
  const now = Date.now();
  const old = task_ids.filter((name) => isUuid(name) && timeOfUuid(name) < now - UNKNOWN_MS);
  const over = [...(await store.tasks.ended(task_ids)), ...(await store.tasks.over(old, around(new Date(now), 0)))];
  for (const task_id of new Set(over)) await workspaces.remove(task_id);
}
