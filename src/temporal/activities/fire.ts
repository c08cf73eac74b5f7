import { AppError } from '../../domain/errors.ts';
import type { Principal } from '../../store/principals.ts';
import type { ScheduleRow, ScheduleStore } from '../../store/scheduled-agents.ts';
import type { TaskStore } from '../../store/tasks.ts';
import type { Dispatch } from '../dispatch.ts';

export interface FirePorts {
  schedules: ScheduleStore;
  tasks: Pick<TaskStore, 'find'>;
  dispatch: Pick<Dispatch, 'prompt'>;
  /** Null: the token is no longer valid. Throws if that cannot be determined. */
  identify(access_token: string): Promise<Principal | null>;
  /** Removes a schedule that no longer exists from the engine. */
  forget(schedule_id: string): Promise<void>;
}

interface Outcome {
  outcome: 'started' | 'triggered' | 'skipped' | 'failed';
  detail?: string;
  task_id: string | null;
}

/** Serves one due time. Throws only if the next attempt may succeed. */
export const fireActivity =
  (ports: FirePorts) =>
  async (schedule_id: string, due_at: string): Promise<void> => {
    const row = await ports.schedules.find(schedule_id);
    if (!row) return ports.forget(schedule_id);
    await ports.schedules.noteMissed(row, Date.now());
    if (row.enabled) await serve(ports, row, { due_at: new Date(due_at), by_hand: false });
  };

export const failFireActivity =
  ({ schedules }: FirePorts) =>
  async (schedule_id: string, due_at: string, detail: string): Promise<void> => {
    await schedules.settleFire(schedule_id, new Date(due_at), { outcome: 'failed', detail, task_id: null });
  };

/** Creates the task of one due time and records the outcome; a due time is served only once. */
export async function serve(
  ports: FirePorts,
  row: ScheduleRow,
  { due_at, by_hand }: { due_at: Date; by_hand: boolean },
): Promise<void> {
  const { task_id, settled } = await ports.schedules.claimFire(row.id, due_at);
  if (settled) return;
  const outcome = await fireOutcome(ports, row, { task_id, due_at, by_hand }).catch(async (error: unknown) => {
    // The engine retries a due time. A manual trigger is not retried, so it must not stay open.
    if (error instanceof AppError) {
      const { message: detail } = error;
      if (by_hand) await ports.schedules.settleFire(row.id, due_at, { outcome: 'failed', detail, task_id: null });
      else await ports.schedules.noteWaiting(row.id, due_at, detail);
    }
    throw error;
  });
  await ports.schedules.settleFire(row.id, due_at, outcome);
}

async function fireOutcome(
  ports: FirePorts,
  row: ScheduleRow,
  { task_id, due_at, by_hand }: { task_id: string; due_at: Date; by_hand: boolean },
): Promise<Outcome> {
  const outcome = by_hand ? 'triggered' : 'started';
  if (await ports.tasks.find(task_id)) return { outcome, task_id };
  const access_token = ports.schedules.tokenOf(row);
  const principal = access_token && (await ports.identify(access_token));
  if (!principal || `${principal.provider}:${principal.subject}` !== row.owner) {
    const detail = 'The access token kept with this schedule is no longer valid; save the schedule again with a new one';
    return { outcome: 'failed', detail, task_id: null };
  }
  const open = row.overlap_policy === 'skip' ? await ports.schedules.openTask(row.id, task_id) : null;
  if (open) return { outcome: 'skipped', detail: `The previous run ${open} has not ended`, task_id: null };
  try {
    await ports.dispatch.prompt({ ...orderOf(row), task_id, due_at, access_token });
    return { outcome, task_id };
  } catch (error) {
    // There is no room now; the next attempt may find some.
    if (!(error instanceof AppError) || error.kind === 'unavailable' || error.kind === 'too_many') throw error;
    return { outcome: error.kind === 'conflict' ? 'skipped' : 'failed', detail: error.message, task_id: null };
  }
}

const orderOf = ({ id, workflow_id, owner, owner_login, prompt, overlap_policy }: ScheduleRow) => ({
  workflow_id,
  owner,
  owner_login,
  prompt,
  trigger: 'schedule',
  scheduled_agent_id: id,
  ...(overlap_policy === 'skip' ? {} : { on_busy: overlap_policy }),
});
