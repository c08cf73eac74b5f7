import { isUuid, timeOfUuid } from '../../domain/uuid.ts';
import type { Store } from '../../store/index.ts';
import type { Schedules } from '../client/schedules.ts';
import { toGraceSpan } from './reconcile-tasks.ts';

interface ReconciledSchedules {
  saved: string[];
  removed: string[];
  /** The schedules that were paused in the engine by hand, and are now disabled on record. */
  disabled: string[];
  /** The schedules that were disabled because their last runs have failed. */
  failing: string[];
}

type Rows = Pick<Store, 'scheduledAgents'>;

/**
 * Makes the engine's schedules match the rows, which are authoritative: updates those that differ, and removes those without a
 * row. Only a pause is adopted from the engine. Disables schedules whose runs keep failing, if their owners want that.
 */
export async function reconcileSchedules(store: Rows, schedules: Schedules): Promise<ReconciledSchedules> {
  const failing = await store.scheduledAgents.pauseFailing();
  const rows = await store.scheduledAgents.all();
  const overview = await schedules.overview(rows);
  const done: ReconciledSchedules = { saved: [], removed: [], disabled: [], failing };
  // Rows and overview may be slightly out of date, so a schedule that looks different is read again.
  const suspects = new Set([...overview.keys(), ...rows.map(({ id }) => id)].filter((id) => !overview.get(id)));
  for (const id of suspects) {
    const move = await updateSchedule(store, schedules, { id, known: overview.has(id) });
    if (move) done[move].push(id);
  }
  return done;
}

/** The number of times that a schedule is compared again because it has changed. More often is not expected. */
const MOST_LOOKS = 5;
/** A row that changed this recently may be on its way to the engine. */
const GRACE_MS = 15_000;

const PAUSED = 'Paused in Temporal; enable the schedule to continue';

/** Updates one schedule of the engine from its row, and again if the row has changed in the meantime. */
async function updateSchedule(
  { scheduledAgents }: Rows,
  schedules: Schedules,
  { id, known }: { id: string; known: boolean },
): Promise<'saved' | 'removed' | 'disabled' | null> {
  let is_saved = false;
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const row = await scheduledAgents.find(id);
    if (!row) {
      if (!known && !is_saved) return null;
      await schedules.remove(id);
      return 'removed';
    }
    if (await schedules.matches(row)) break;
    if (row.enabled && (await schedules.isPausedByHand(id)))
      return (await scheduledAgents.disableUnchanged(id, { grace_ms: GRACE_MS, reason: PAUSED })) ? 'disabled' : null;
    await schedules.save(row);
    is_saved = true;
  }
  return is_saved ? 'saved' : null;
}

/**
 * The age from which a workspace without a task is removed. A younger one may belong to a record that is being restored, or to
 * another record that uses the same folder.
 */
const UNKNOWN_MS = 24 * 3_600_000;

/** Removes the workspaces of runs that ended on another machine or with their lost worker, and of tasks that were removed. */
export async function reconcileWorkspaces(
  store: Pick<Store, 'tasks'>,
  workspaces: { listIds(): Promise<string[]>; remove(task_id: string): Promise<void> },
): Promise<void> {
  const task_ids = await workspaces.listIds();
  const now = Date.now();
  const old = task_ids.filter((name) => isUuid(name) && timeOfUuid(name) < now - UNKNOWN_MS);
  const over = [...(await store.tasks.filterEnded(task_ids)), ...(await store.tasks.over(old, toGraceSpan(new Date(now), 0)))];
  for (const task_id of new Set(over)) await workspaces.remove(task_id);
}

/**
 * Removes the state of MCP servers that were deleted while the process that deletes it was lost, or on another machine. State of
 * a server that the database does not know stays: it may be a restored one, or not the only one of this home.
 */
export async function reconcileMcpState(
  store: { mcpServers: Pick<Store['mcpServers'], 'filterKnown'>; audit: Pick<Store['audit'], 'filterDeleted'> },
  state: { listServers(): Promise<string[]>; remove(server_id: string): Promise<void> },
): Promise<void> {
  const ids = await state.listServers();
  const known = new Set(await store.mcpServers.filterKnown(ids));
  for (const id of await store.audit.filterDeleted('delete_mcp_server', ids)) if (!known.has(id)) await state.remove(id);
}
