import { isFiller, parseStoredCadence } from '../../domain/cadence.ts';
import { BUDGET_SPENT } from '../../domain/cap-states.ts';
import { AppError } from '../../domain/errors.ts';
import type { LaterStarts } from '../../identity/later-starts.ts';
import type { ScheduleRow, ScheduleStore } from '../../store/resources/scheduled-agents.ts';
import type { WorkflowStore } from '../../store/resources/workflows.ts';
import type { TaskStore } from '../../store/runs/tasks.ts';
import type { Dispatch } from '../start/orders.ts';

export interface FirePorts {
  schedules: ScheduleStore;
  tasks: Pick<TaskStore, 'find'>;
  dispatch: Pick<Dispatch, 'prompt'>;
  workflows: Pick<WorkflowStore, 'usesCallerToken'>;
  mayStart: LaterStarts;
  /** Removes a schedule that no longer exists from the engine. */
  forget(schedule_id: string): Promise<void>;
}

interface Outcome {
  outcome: Fire['outcome'] | 'skipped' | 'failed';
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
    const time = new Date(due_at);
    if (!row.enabled || isFiller(parseStoredCadence(row), time.getTime())) return;
    if ((await ports.schedules.pauseFailing(schedule_id)).length > 0) return;
    await serve(ports, row, { due_at: time, outcome: 'started' });
  };

export const failFireActivity =
  ({ schedules }: FirePorts) =>
  async (schedule_id: string, due_at: string, detail: string): Promise<void> => {
    await schedules.settleFire(schedule_id, new Date(due_at), { outcome: 'failed', detail, task_id: null });
  };

/** A due time to serve, and the outcome of serving it. */
export interface Fire {
  due_at: Date;
  outcome: 'started' | 'triggered' | 'backfilled';
}

/** Creates the task of one due time and records the outcome; a due time is served only once. */
export async function serve(ports: FirePorts, row: ScheduleRow, { due_at, outcome: requested_outcome }: Fire): Promise<void> {
  const { task_id, is_settled } = await ports.schedules.claimFire(row.id, due_at);
  if (is_settled) return;
  const outcome = await fireOutcome(ports, row, { task_id, due_at, outcome: requested_outcome }).catch(async (error: unknown) => {
    // The engine retries a due time. A run that a person requested is not retried, so its request must not stay open.
    if (error instanceof AppError) {
      const { message: detail } = error;
      if (requested_outcome !== 'started')
        await ports.schedules.settleFire(row.id, due_at, { outcome: 'failed', detail, task_id: null });
      else await ports.schedules.noteWaiting(row.id, due_at, detail);
    }
    throw error;
  });
  await ports.schedules.settleFire(row.id, due_at, outcome);
}

async function fireOutcome(
  ports: FirePorts,
  row: ScheduleRow,
  { task_id, due_at, outcome }: Fire & { task_id: string },
): Promise<Outcome> {
  if (await ports.tasks.find(task_id)) return { outcome, task_id };
  const uses_token = await ports.workflows.usesCallerToken(row.workflow_id);
  const token = ports.schedules.unsealToken(row);
  const refusal = await ports.mayStart({ ...row, access_token: token }, { noun: 'schedule', uses_token });
  if (refusal !== null) return { outcome: 'failed', detail: refusal, task_id: null };
  if (token !== null && !uses_token) await ports.schedules.forgetToken(row);
  const access_token = uses_token ? token : null;
  const detail = await findOverlap(ports, row, task_id);
  if (detail !== null) return { outcome: 'skipped', detail, task_id: null };
  try {
    await ports.dispatch.prompt({ ...toOrder(row), task_id, due_at, access_token });
    return { outcome, task_id };
  } catch (error) {
    if (error instanceof AppError && error.code === BUDGET_SPENT)
      return { outcome: 'skipped', detail: error.message, task_id: null };
    // There is no room now; the next attempt may find some.
    if (!(error instanceof AppError) || error.kind === 'unavailable' || error.kind === 'too_many') throw error;
    return { outcome: error.kind === 'conflict' ? 'skipped' : 'failed', detail: error.message, task_id: null };
  }
}

/** Returns the reason why the schedule's overlap policy skips a run; null if it does not. */
async function findOverlap(
  { schedules }: FirePorts,
  { id, overlap_policy }: ScheduleRow,
  task_id: string,
): Promise<string | null> {
  const open = overlap_policy === 'skip' ? await schedules.openTask(id, task_id) : null;
  if (open) return `The previous run ${open} has not ended`;
  const waiting = overlap_policy === 'enqueue_one' ? await schedules.waitingTask(id, task_id) : null;
  return waiting && `The run ${waiting} waits already`;
}

/** Maps an overlap policy to the workflow's behaviour for a task while another one runs. */
const ON_BUSY: Record<string, string> = { enqueue_one: 'enqueue', enqueue: 'enqueue', interrupt: 'interrupt' };

const toOrder = ({ id, workflow_id, owner, owner_login, service_key_id, prompt, overlap_policy }: ScheduleRow) => ({
  workflow_id,
  owner,
  owner_login,
  service_key_id,
  prompt,
  trigger: 'schedule',
  scheduled_agent_id: id,
  ...(overlap_policy === 'skip' ? {} : { on_busy: ON_BUSY[overlap_policy] }),
});
