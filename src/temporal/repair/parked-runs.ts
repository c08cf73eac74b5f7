import { DOUBT, findCallGap, findStepGap, type RunWait } from '../../domain/continuity.ts';
import type { Store } from '../../store/index.ts';
import type { UnfinishedTask } from '../../store/runs/tasks.ts';
import type { Engine, Execution } from '../client/engine.ts';

/** The number of runs that one comparison asks. Each may have to be replayed; the next comparison asks the others. */
const MOST_ASKED = 500;
/** The number of missing answers in a row after which no more are requested: there is no worker for these runs. */
const MOST_MISSING = 20;

export type ParkedRuns = ReturnType<typeof createParkedRuns>;

/**
 * Collects everything that parked runs wait for. A run is asked once: as long as its execution does nothing, it waits for the
 * same.
 */
export function createParkedRuns({ most_asked = MOST_ASKED } = {}) {
  const waits_by_task = new Map<string, { place: string; waits: RunWait[] | null }>();
  let query_count = 0;
  let missing = 0;
  return {
    /** Begins a comparison of these tasks, and forgets all others. */
    begin(task_ids: Iterable<string>): void {
      const current = new Set(task_ids);
      for (const task_id of waits_by_task.keys()) if (!current.has(task_id)) waits_by_task.delete(task_id);
      query_count = 0;
      missing = 0;
    },
    /** Returns the waits of a run; null if they are not known, or not yet. */
    async findWaits(engine: Pick<Engine, 'waits'>, task_id: string, place: string): Promise<RunWait[] | null> {
      const before = waits_by_task.get(task_id);
      if (before?.place === place) return before.waits;
      if (query_count >= most_asked || missing >= MOST_MISSING) return null;
      query_count += 1;
      const waits = await engine.waits(task_id);
      missing = waits === null ? missing + 1 : 0;
      if (waits !== null) waits_by_task.set(task_id, { place, waits });
      return waits;
    },
  };
}

type Records = Pick<Store, 'tasks' | 'ledger' | 'runs'>;

/**
 * Returns what the record lacks of what a parked run waits for; null if it lacks nothing. A run records its wait before it begins
 * to wait, so the record is read after the engine, and a difference counts only if the execution did nothing in the meantime.
 */
export async function missingWhileParked(
  { store, engine }: { store: Records; engine: Pick<Engine, 'execution'> },
  task: UnfinishedTask,
  { place, waits }: { place: Execution['place']; waits: RunWait[] },
): Promise<string | null> {
  if (waits.every((wait) => isOnRecord(task, wait))) return null;
  const now = await store.tasks.findUnfinished(task.task_id);
  if (!now || now.record_behind !== null || now.continuity !== null) return null;
  for (const wait of waits) {
    const missing = isOnRecord(now, wait) ? null : await findMissing(store, now, wait);
    if (missing) return (await engine.execution(task.task_id)).place === place ? missing : null;
  }
  return null;
}

/** True if the wait is known to be on record. If false, more has to be read to find out. */
function isOnRecord({ open_calls, steps, record_behind }: UnfinishedTask, wait: RunWait): boolean {
  switch (wait.for) {
    case 'lane':
      return true;
    case 'person':
      return record_behind !== null;
    case 'budget':
      return steps >= wait.step;
    case 'call': {
      const call = open_calls.find(({ call_id }) => call_id === wait.call_id);
      return call !== undefined && findCallGap(wait.call_id, { ...call, known: true, defined: true }, wait.seen) === null;
    }
  }
}

async function findMissing({ ledger, runs }: Records, { task_id }: UnfinishedTask, wait: RunWait): Promise<string | null> {
  if (wait.for === 'call') {
    const call = await ledger.open(task_id, wait.call_id);
    return call ? findCallGap(wait.call_id, call, wait.seen) : null;
  }
  if (wait.for === 'budget') {
    const run = await runs.open(task_id, wait.step);
    return run ? (findStepGap({ step: wait.step, denied: [] }, run) ?? `the beginning of step ${wait.step}`) : null;
  }
  return DOUBT;
}
