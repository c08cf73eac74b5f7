import type { Definition } from '../../domain/definition.ts';
import type { Evaluated } from '../../store/runs/forks.ts';
import type { AskedOfRun } from '../../store/runs/pin.ts';
import type { RunLabels } from '../client/run-labels.ts';
import type { RunInput } from '../names.ts';
import type { ForkAt } from './fork.ts';
import type { PromptOrder } from './new-task.ts';

/** A run that is to begin at a step of another run. */
export type ForkOrder = Omit<
  PromptOrder,
  'prompt' | 'prompt_parts' | 'attachments' | keyof AskedOfRun | 'trigger' | 'scheduled_agent_id' | 'due_at'
> &
  ForkAt;

/** A run of an evaluation: in a separate workflow, so that it waits for no other run. */
export interface SeparateOrder {
  evaluation_id: string;
  task_id: string;
  /** The workflow that is evaluated. */
  workflow_id: string;
  owner: string;
  owner_login: string;
  prompt: string;
  access_token: string | null;
  /** The service key that started the evaluation. */
  service_key_id: string | null;
}

/** A task that is on record and whose run is to be started. */
export interface Prepared {
  run: RunInput;
  labels: RunLabels;
}

export interface Accepted {
  task_id: string;
  workflow_id: string;
  /** The conversation of which it is a turn; null: of none. */
  thread_id: string | null;
  status: 'pending';
  prompt: string;
  created_at: string;
  /** What its sender should know, as sentences. */
  warnings: string[];
}

/** The outcome of a message: a run that it has started, or the run that works and reads it at its next step. */
export type Sent = { started: Accepted } | { steered: { id: string; task_id: string } };

/** An order with the id of its task. */
export type TaskOrder<O> = O & { task_id: string };

export interface Dispatch {
  /** Writes a task of the owner's workflow and starts its run. If the engine is unreachable, nothing is left behind. */
  prompt(order: PromptOrder): Promise<Accepted>;
  /** Like `prompt`, but with `steer` as policy, the run in progress reads the prompt at its next step; it is then a message that waits. */
  send(order: PromptOrder): Promise<Sent>;
  /** Writes a task that forks another run at one of its steps, and starts it like the task of a prompt. */
  fork(order: ForkOrder): Promise<Accepted>;
  /** Writes a task of an evaluation, once. Its run is started by the evaluation. */
  evaluate(order: SeparateOrder & Evaluated): Promise<Prepared>;
  /** Writes a task that judges an answer, once. Its run is started by the evaluation. */
  judge(order: SeparateOrder, definition: Definition): Promise<Prepared>;
  /** Carries out the recorded decision about a task whose record is behind. The reconciler repeats what fails. */
  continueRun(task_id: string): Promise<void>;
  /** Asks a task's run to end; text and usage so far are kept. */
  halt(task_id: string): Promise<void>;
  /** Ends the tasks of a workflow that have not begun, after it was switched off. */
  endQueue(workflow_id: string): Promise<void>;
  /** Starts the next task of a workflow, after it was switched on. */
  resumeQueue(workflow_id: string): Promise<void>;
}
