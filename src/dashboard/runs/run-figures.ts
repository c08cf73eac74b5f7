import { type Task, tasks } from '../../contracts/tasks.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { useRead } from '../api/queries.ts';
import { useNow } from '../ui/clock.ts';
import { findKnownCost } from '../ui/figures.ts';
import { budgetUse } from './budget-use.ts';
import { countTurns } from './run-state.ts';
import type { Followed } from './use-run.ts';

/**
 * Returns the input to read a run without its messages and logs, which the stream delivers. An empty value would be dropped
 * from the URL.
 */
export const toRunInput = (id: string) => ({ params: { id }, query: { include: ',' } });

/** Returns the figures of a run. While it is in progress, its stream is newer than its record, and the browser's clock counts. */
export function useRunFigures(task: Task, status: string, { run }: Followed) {
  const { data, dataUpdatedAt } = useRead(tasks.get, toRunInput(task.id));
  const live = task.started_at !== null && !isTerminal(status);
  const now = useNow(live);
  const usage = run.usage ?? task.usage;
  const age_ms = live ? Math.max(0, now - dataUpdatedAt) : 0;
  const elapsed_ms = getElapsedMs(task, live ? now : null);
  const waiting_ms = (data?.waiting_seconds ?? 0) * 1000 + (status === 'waiting' ? age_ms : 0);
  const priced = usage.priced ?? data?.priced ?? true;
  const used = {
    cost: findKnownCost({ cost: usage.cost, priced }),
    tokens: usage.total_in + usage.total_out,
    seconds: (elapsed_ms ?? 0) / 1000,
  };
  return {
    usage,
    priced,
    turns: Math.max(countTurns(run), task.turns),
    elapsed_ms,
    waiting_ms,
    working_ms: elapsed_ms === null ? null : Math.max(0, elapsed_ms - waiting_ms),
    budget: budgetUse(data?.budget ?? null, used),
    forks: data?.forks ?? [],
  };
}

/** Returns how long a run has taken, up to `now` if it is in progress; null: it has not started. */
export function getElapsedMs({ started_at, elapsed_seconds }: Task, now: number | null): number | null {
  if (now !== null && started_at !== null) return Math.max(0, now - Date.parse(started_at));
  return elapsed_seconds === null ? null : elapsed_seconds * 1000;
}
