import type { RunSettings } from '../domain/definition.ts';
import type { LoopState } from '../domain/run-loop.ts';

/** The embedded engine's data in the home folder. */
export const ENGINE_FILE = 'temporal/temporal.db';

/** The engine's id of a task's run: unique, so that a second start has no effect. */
export const toRunId = (task_id: string) => `task-${task_id}`;

export const SCHEDULE_PREFIX = 'schedule-';
export const toScheduleId = (id: string) => `${SCHEDULE_PREFIX}${id}`;

export const toDeliveryId = (delivery_id: string) => `webhook-${delivery_id}`;
export const toEvaluationId = (id: string) => `evaluation-${id}`;
export const toTaskId = (run_id: string) => run_id.replace(/^task-/, '');

/** Type of the failure that ends a run whose budget is used up. */
export const BUDGET_HALT = 'budget_exhausted';
/** Type of the failure that ends a run whose budget limits dollars although a model has no price. */
export const UNPRICED_HALT = 'unpriced_model';

/** Type of the failure of an attempt at a run that is being halted. */
export const HALTED = 'Halted';

/** Type of the failure that ends a run whose task was ended or deleted from outside the run. */
export const TASK_ENDED = 'task_ended';

/**
 * Returns a worker's default name for its code, such as perdura@0.1.0. The engine records it with each completed workflow task.
 */
export const toBuildId = (version: string) => `perdura@${version}`;

/** The kinds of work a worker can do: run the workflow code, call models, call tools. */
export const ROLES = ['runs', 'models', 'tools'] as const;
export type Role = (typeof ROLES)[number];

/** Returns the task queue of a role, derived from the installation's queue. */
export const queueOfRole = (task_queue: string, role: Role): string => (role === 'runs' ? task_queue : `${task_queue}-${role}`);

/** The run as the engine receives it: ids and small rules, never content. */
export interface RunInput {
  task_id: string;
  max_turns: number;
  /** True if another task of the same workflow holds the lane: the run waits for `proceed`. */
  queued: boolean;
  /** True if model and tool calls go to the queues of these roles; absent: to the run's own queue. Fixed when the run starts. */
  role_queues?: boolean;
  /** True if facts worth keeping are extracted when the run is complete. */
  auto_memory?: boolean;
  /** The loop state in which the previous run of the same chain stopped. */
  state?: LoopState;
  /** Calls that a person has decided about and that are not resumed yet. */
  decided?: string[];
  /** Rounds after which the run continues as new; absent: the engine suggests when. */
  renew_after?: number;
}

/** Returns the run settings that the loop needs. */
export const toRunRules = ({ max_turns, auto_memory, bypass_memory }: RunSettings) => ({
  max_turns,
  ...(auto_memory && !bypass_memory ? { auto_memory } : {}),
});

/**
 * Applies to every workflow: the time after which the engine hands out a workflow task again if its first request was on a lost
 * connection. From the fourth attempt on, the engine allows more time, up to 10 minutes, so that a slow replay completes as well.
 */
export const WORKFLOW_TASK_TIMEOUT = '4s' as const;

/** Reports if a call in progress waits for a person's answer. */
export interface Asking {
  call_id: string;
  is_asking: boolean;
}

export interface RunEnd {
  status: 'completed' | 'failed' | 'halted';
  error: string | null;
  error_code: string | null;
}

/** The end of a run and its number of tool calls. `passed`: the calls that its execution has completed. */
export type FinalState = RunEnd & { turns: number; passed?: PassedCalls };

/** The calls that have ended in an execution: those before a step (except those denied with it) and some of that step. */
export interface PassedCalls {
  step: number;
  denied: string[];
  calls: string[];
}

/** The search attribute `PerduraStatus` of a run: its task's status as far as its execution knows. */
export type ShownStatus = 'running' | WaitingStatus | RunEnd['status'];
/** `pending`: the run waits for its lane; `waiting`: it waits for a person. */
export type WaitingStatus = 'pending' | 'waiting';

export const SEARCH_ATTRIBUTES = [
  'PerduraOwner',
  'PerduraAgent',
  'PerduraWorkflow',
  'PerduraWorkflowId',
  'PerduraModel',
  'PerduraStatus',
] as const;

/** Returns the id of the schedule that compares tasks with the engine; its note keeps the installation's mark. */
export const reconcilerScheduleId = (task_queue: string) => `reconcile-${task_queue}`;
