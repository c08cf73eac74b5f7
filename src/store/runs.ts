import type pg from 'pg';
import type { BudgetLimits } from '../domain/budget.ts';
import type { ToolEffect } from '../domain/definition.ts';
import type { NewEvent } from '../domain/events.ts';
import type { PlannedCall } from '../domain/run-loop.ts';
import type { ModelCall, TranscriptMessage } from '../domain/transcript.ts';
import type { Usage } from '../domain/usage.ts';
import { row } from './database.ts';
import { COMPACT, WAIT } from './statements/pauses.ts';
import * as sql from './statements/runs.ts';

/** A task as the engine's activities see it, at one of its steps. */
export interface OpenRun extends Usage {
  task_id: string;
  workflow_id: string;
  owner: string;
  owner_login: string;
  prompt: string;
  status: string;
  /** A person has asked for a halt, and the engine knows. */
  halt_requested: boolean;
  definition_hash: string;
  cursor: unknown;
  toolset: unknown;
  turns: number;
  /** Set where a person changed the budget of this run. */
  budget: BudgetLimits | null;
  started_at: Date | null;
  caller_token: Uint8Array<ArrayBuffer> | null;
  caller_key_id: string | null;
  /** Attempts of this step so far, and how many of them failed recoverably. */
  attempts: number;
  errors: number;
  /** Whether the step's reply is in the transcript. */
  recorded: boolean;
  messages: TranscriptMessage[];
  /** Calls of the step's recorded reply. */
  calls: PlannedCall[];
}

export interface Begin {
  step: number;
  turns: number;
  denied: string[];
  messages: TranscriptMessage[];
  events: NewEvent[];
}

interface PlannedToolCall extends ModelCall {
  position: number;
  effect: ToolEffect;
  approval: boolean;
}

export interface StepRecord {
  step: number;
  model: string | null;
  finish: string;
  usage: Usage;
  message: TranscriptMessage;
  calls: PlannedToolCall[];
  cursor: unknown;
  /** The final answer; undefined while the loop goes on. */
  response: unknown;
  events: NewEvent[];
}

export interface Compaction {
  step: number;
  message: TranscriptMessage;
  usage: Usage;
  events: NewEvent[];
}

interface Settlement {
  status: 'completed' | 'failed' | 'halted';
  error: string | null;
  error_code: string | null;
  events: NewEvent[];
}

export interface Settled {
  /** The task that has the lane now. */
  next: string | null;
  /** The webhook delivery that the end of the task opened. */
  webhook: string | null;
  /** Null when the task is gone. */
  definition_hash: string | null;
}

/** Who wrote events wants to tell others of them: the numbers up to `last` are theirs. */
export type Tell = (workflow_id: string, task_id: string, told: { events: NewEvent[]; last: number }) => void;

export type RunStore = ReturnType<typeof runStore>;

export function runStore(pool: pg.Pool, tell: Tell = () => {}) {
  async function write(statement: sql.Statement, run: OpenRun, { events, values }: { events: NewEvent[]; values: unknown[] }) {
    const told = await row<{ last: number }>(pool, statement, values);
    if (told) tell(run.workflow_id, run.task_id, { events, last: told.last });
    return told !== undefined;
  }

  return {
    open: (task_id: string, step: number) => row<OpenRun>(pool, sql.OPEN, [task_id, step]),

    /** Begins the next attempt of a step and writes what the model is told before it answers. False when another attempt was quicker. */
    begin: (run: OpenRun, { step, turns, denied, messages, events }: Begin) =>
      write(sql.BEGIN, run, {
        events,
        values: [
          run.task_id,
          run.workflow_id,
          step,
          turns,
          denied,
          JSON.stringify(messages),
          JSON.stringify(events),
          run.attempts,
        ],
      }),

    /** Tells text of the attempt that followed on `run`. False when a later attempt has the step. */
    tellDeltas: (run: OpenRun, { step, events }: { step: number; events: NewEvent[] }) =>
      write(sql.DELTAS, run, {
        events,
        values: [run.task_id, run.workflow_id, step, run.attempts + 1, JSON.stringify(events)],
      }),

    /** Writes the reply of a step once. False when another attempt has written it, or has the step. */
    record: (run: OpenRun, { step, model, finish, usage, message, calls, cursor, response, events }: StepRecord) =>
      write(sql.RECORD, run, {
        events,
        values: [
          ...[run.task_id, run.workflow_id, step, model, finish],
          ...[usage.total_in, usage.total_out, usage.cache_read, usage.cache_write, usage.cost],
          ...[JSON.stringify([message]), JSON.stringify(calls), cursor == null ? null : JSON.stringify(cursor)],
          ...[response === undefined ? null : JSON.stringify(response), JSON.stringify(events), run.attempts + 1],
        ],
      }),

    /** Tells of a run that waits. */
    tell: (run: OpenRun, events: NewEvent[]) =>
      write(sql.TELL, run, { events, values: [run.task_id, run.workflow_id, JSON.stringify(events)] }),

    /** Freezes the tools found for a run. False when that was done before. */
    freezeToolset: (run: OpenRun, { toolset, events }: { toolset: unknown; events: NewEvent[] }) =>
      write(sql.FREEZE_TOOLSET, run, {
        events,
        values: [run.task_id, run.workflow_id, JSON.stringify(toolset), JSON.stringify(events)],
      }),

    /** Writes a summary of older messages, and what it has cost. False when another attempt has the step. */
    compact: (run: OpenRun, { step, message, usage, events }: Compaction) =>
      write(COMPACT, run, {
        events,
        values: [
          ...[run.task_id, run.workflow_id, step, run.attempts + 1],
          ...[usage.total_in, usage.total_out, usage.cache_read, usage.cache_write, usage.cost],
          ...[JSON.stringify([message]), JSON.stringify(events)],
        ],
      }),

    /** Parks the run until its budget is raised. */
    wait: (run: OpenRun, { step, events }: { step: number; events: NewEvent[] }) =>
      write(WAIT, run, { events, values: [run.task_id, run.workflow_id, step, run.attempts + 1, JSON.stringify(events)] }),

    /** Counts a recoverable failure of a step. */
    noteError: (run: OpenRun, { step, error, events }: { step: number; error: string; events: NewEvent[] }) =>
      write(sql.NOTE_ERROR, run, {
        events,
        values: [run.task_id, run.workflow_id, step, error, JSON.stringify(events), run.attempts + 1],
      }),

    /** Adds to what a run has spent, and tells of it. */
    note: (run: OpenRun, { usage, events }: { usage: Usage; events: NewEvent[] }) =>
      write(sql.NOTE, run, {
        events,
        values: [
          ...[run.task_id, run.workflow_id, JSON.stringify(events)],
          ...[usage.total_in, usage.total_out, usage.cache_read, usage.cache_write, usage.cost],
        ],
      }),

    /** Ends a task once and gives its lane to the next; returns the next task's id, and the message that is to be delivered. */
    async settle(task_id: string, { status, error, error_code, events }: Settlement): Promise<Settled> {
      const settled = await row<Settled & { workflow_id: string; last: number | null }>(pool, sql.SETTLE, [
        ...[task_id, status, error, error_code, JSON.stringify(events)],
      ]);
      if (settled?.last) tell(settled.workflow_id, task_id, { events, last: settled.last });
      const { next = null, webhook = null, definition_hash = null } = settled ?? {};
      return { next, webhook, definition_hash };
    },
  };
}
