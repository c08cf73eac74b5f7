import type { LoopState } from '../domain/run-loop.ts';

/** The engine's id of a task's run: unique, so that starting twice is starting once. */
export const runIdOf = (task_id: string) => `task-${task_id}`;

/** What the engine is told of a run: ids and small rules, never content. */
export interface RunInput {
  task_id: string;
  max_turns: number;
  /** Another task of the same workflow holds the lane: wait to be let in. */
  queued: boolean;
  /** Where the run before this one in the same chain stopped. */
  state?: LoopState;
  /** Calls that a person decided and that were not yet taken up. */
  decided?: string[];
}

export interface RunEnd {
  status: 'completed' | 'failed' | 'halted';
  error: string | null;
  error_code: string | null;
}

/** How a run ended, and after how many tool calls. */
export type FinalState = RunEnd & { turns: number };

export const SEARCH_ATTRIBUTES = [
  'PerduraOwner',
  'PerduraAgent',
  'PerduraWorkflow',
  'PerduraWorkflowId',
  'PerduraModel',
  'PerduraStatus',
] as const;
