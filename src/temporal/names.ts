import type { RunSettings } from '../domain/definition.ts';
import type { LoopState } from '../domain/run-loop.ts';

/** The engine's id of a task's run: unique, so that starting twice is starting once. */
export const runIdOf = (task_id: string) => `task-${task_id}`;

export const SCHEDULE_PREFIX = 'schedule-';
export const scheduleIdOf = (id: string) => `${SCHEDULE_PREFIX}${id}`;

export const deliveryIdOf = (delivery_id: string) => `webhook-${delivery_id}`;
export const taskIdOfExecution = (run_id: string) => run_id.replace(/^task-/, '');

/** Type of the failure that ends a run whose budget is used up. */
export const BUDGET_HALT = 'budget_exhausted';

/** What the engine is told of a run: ids and small rules, never content. */
export interface RunInput {
  task_id: string;
  max_turns: number;
  /** Another task of the same workflow holds the lane: wait to be let in. */
  queued: boolean;
  /** Facts worth keeping are looked for when the run is complete. */
  auto_memory?: boolean;
  /** Where the run before this one in the same chain stopped. */
  state?: LoopState;
  /** Calls that a person decided and that were not yet taken up. */
  decided?: string[];
  /** Rounds after which the history is begun anew; otherwise the engine says when. */
  renew_after?: number;
}

/** The rules of a run that its loop must know. */
export const rulesOf = ({ max_turns, auto_memory, bypass_memory }: RunSettings) => ({
  max_turns,
  ...(auto_memory && !bypass_memory ? { auto_memory } : {}),
});

export interface RunEnd {
  status: 'completed' | 'failed' | 'halted';
  error: string | null;
  error_code: string | null;
}

/** How a run ended, and after how many tool calls. */
export type FinalState = RunEnd & { turns: number };

/** `PerduraStatus` is there only while a run waits: for a person, or for its lane. Whether it runs or how it ended, the engine says. */
export const SEARCH_ATTRIBUTES = [
  'PerduraOwner',
  'PerduraAgent',
  'PerduraWorkflow',
  'PerduraWorkflowId',
  'PerduraModel',
  'PerduraStatus',
] as const;
