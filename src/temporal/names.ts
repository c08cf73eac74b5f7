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

/** Type of the failure of an attempt at a run that is being halted. */
export const HALTED = 'Halted';

/** Type of the failure that ends a run whose task somebody else has ended or deleted. */
export const TASK_ENDED = 'task_ended';

/** How a worker names its code if its operator does not, such as perdura@0.1.0. The engine notes it with each workflow task that is done. */
export const toBuildId = (version: string) => `perdura@${version}`;

/** What a worker does: runs the workflow code, calls models, calls tools. */
export const ROLES = ['runs', 'models', 'tools'] as const;
export type Role = (typeof ROLES)[number];

/** The task queue of a role, by the installation's. */
export const queueOfRole = (task_queue: string, role: Role): string => (role === 'runs' ? task_queue : `${task_queue}-${role}`);

/** What the engine receives about a run: ids and small rules, never content. */
export interface RunInput {
  task_id: string;
  max_turns: number;
  /** Another task of the same workflow holds the lane: wait for `proceed`. */
  queued: boolean;
  /** Its model and tool calls go to the queues of these roles; if absent, to the run's own queue. Fixed when the run starts. */
  role_queues?: boolean;
  /** When the run is complete, extract facts worth keeping. */
  auto_memory?: boolean;
  /** The loop state in which the previous run of the same chain stopped. */
  state?: LoopState;
  /** Calls that a person decided about and that were not resumed yet. */
  decided?: string[];
  /** Rounds after which to continue as new; if absent, the engine suggests when. */
  renew_after?: number;
}

/** The rules of a run that its loop needs. */
export const toRunRules = ({ max_turns, auto_memory, bypass_memory }: RunSettings) => ({
  max_turns,
  ...(auto_memory && !bypass_memory ? { auto_memory } : {}),
});

/**
 * For every workflow: when the engine gives a workflow task out again that it gave to a request on a lost connection. It gives out the
 * fourth attempt and later ones for longer, up to 10 minutes, so that a slow replay ends as well.
 */
export const WORKFLOW_TASK_TIMEOUT = '4s' as const;

/** Whether a call in progress waits for an answer of a person. */
export interface Asking {
  call_id: string;
  is_asking: boolean;
}

export interface RunEnd {
  status: 'completed' | 'failed' | 'halted';
  error: string | null;
  error_code: string | null;
}

/** How a run ended, and after how many tool calls. `passed`: what its execution has left behind. */
export type FinalState = RunEnd & { turns: number; passed?: PassedCalls };

/** The calls that have ended for an execution: those before a step, except for those that are denied with it, and some of that step. */
export interface PassedCalls {
  step: number;
  denied: string[];
  calls: string[];
}

/** `PerduraStatus` of a run: of its task, as far as its execution knows. */
export type ShownStatus = 'running' | WaitingStatus | RunEnd['status'];
/** `pending`: it waits for its lane; `waiting`: for a person. */
export type WaitingStatus = 'pending' | 'waiting';

export const SEARCH_ATTRIBUTES = [
  'PerduraOwner',
  'PerduraAgent',
  'PerduraWorkflow',
  'PerduraWorkflowId',
  'PerduraModel',
  'PerduraStatus',
] as const;

/** The schedule that compares tasks with the engine; its note keeps the installation's mark. */
export const reconcilerScheduleId = (task_queue: string) => `reconcile-${task_queue}`;
