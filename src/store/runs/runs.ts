import type pg from 'pg';
import type { AttachedFile } from '../../domain/attachments.ts';
import type { BudgetLimits } from '../../domain/budget.ts';
import type { NamedWindow } from '../../domain/context-window.ts';
import type { ToolEffect } from '../../domain/effects.ts';
import type { FallbackState, RunFallback } from '../../domain/fallback.ts';
import type { PlannedCall } from '../../domain/run-loop.ts';
import type { ThreadContext } from '../../domain/thread.ts';
import type { ModelCall, TranscriptMessage, WaitingMessage } from '../../domain/transcript.ts';
import type { Usage } from '../../domain/usage.ts';
import type { NewEvent } from '../../events/task-events.ts';
import { type Queryable, row } from '../database/database.ts';
import { appendDeltas, appendText } from './deltas.sql.ts';
import { createTextWriter } from './grouped-texts.ts';
import { compactTranscript, waitForBudget } from './pauses.sql.ts';
import * as sql from './runs.sql.ts';
import type { Publish } from './settlement.ts';
import { createSettle } from './settlement.ts';

/** A task at one of its steps, as activities see it. */
export interface OpenRun extends Usage, ThreadContext {
  task_id: string;
  workflow_id: string;
  owner: string;
  owner_login: string;
  prompt: string;
  /** The attached files; null: none. */
  attachments: AttachedFile[] | null;
  status: string;
  /** True if a halt was requested, and the engine has the request. */
  halt_requested: boolean;
  definition_hash: string;
  cursor: unknown;
  /** Where the run is among its fallbacks; null: it never left its own model. */
  fallback: RunFallback | null;
  toolset: unknown;
  turns: number;
  unpriced_models: string[];
  /** Set if the budget of this run was changed. */
  budget: BudgetLimits | null;
  started_at: Date | null;
  /** The seconds since the run's start, by the clock that noted the start. */
  seconds: number | null;
  caller_token: Uint8Array<ArrayBuffer> | null;
  caller_key_id: string | null;
  /** The attempts of this step so far, and how many of them failed recoverably. */
  attempts: number;
  errors: number;
  /** True if the step's reply is in the transcript. */
  recorded: boolean;
  /** True if the previous step is on record, or there is none. */
  follows: boolean;
  /** The calls of the previous step that have not ended. */
  unended: string[];
  /** True if a budget above the run applies to it. */
  has_caps: boolean;
  /** True if the definition of the run is on record. */
  defined: boolean;
  /** What was named for the provider and the model of the run, by the endpoint that it names itself; null: nothing. */
  named_window: NamedWindow | null;
  messages: TranscriptMessage[];
  /** The messages that wait for the run, in the order in which they were accepted. */
  waiting_messages: WaitingMessage[];
  /** The calls of the step's recorded reply. */
  calls: PlannedCall[];
}

/** The model that a step asks. A run without fallbacks names none: its definition does. */
export interface Asked {
  position: number;
  model: string | null;
  provider: { id: string; name: string } | null;
}

export interface Begin {
  step: number;
  turns: number;
  denied: string[];
  /** Where the run goes with this step; null: it stays where it is. */
  fallback: FallbackState | null;
  /** Who is asked, by its position. */
  asked: Asked;
  messages: TranscriptMessage[];
  /** The ids of the waiting messages among them, which enter the run. */
  taken: string[];
  events: NewEvent[];
}

interface PlannedToolCall extends ModelCall {
  position: number;
  effect: ToolEffect;
  approval: boolean;
}

/** The texts that an attempt has published after its beginning: the number of events, and the bytes of text in them. */
export interface PublishedTexts {
  /** The number of the event with which the attempt began. */
  after: number;
  count: number;
  bytes: number;
}

/** What a call of a model has used, and what was reserved for it in budgets above the run; absent or null: nothing. */
interface Charged {
  usage: Usage;
  reservation?: string | null;
}

export interface StepRecord extends Charged {
  step: number;
  model: string | null;
  /** The provider that answered; null: the default runtime. */
  provider: { id: string; name: string } | null;
  /** Its place among the run's fallbacks; 0: it is the run's own. */
  fallback: number;
  finish: string;
  /** The reply, and the faults found in it. */
  messages: TranscriptMessage[];
  calls: PlannedToolCall[];
  cursor: unknown;
  /** The final answer; undefined while the loop continues. */
  response: unknown;
  /** The published part of the reply's text, to be compared with the record; null: `events` have all of it. */
  published: PublishedTexts | null;
  events: NewEvent[];
}

export interface Compaction extends Charged {
  step: number;
  message: TranscriptMessage;
  events: NewEvent[];
}

interface HaltedStep extends Charged {
  step: number;
  model: string | null;
  events: NewEvent[];
}

interface FailedStep extends Charged {
  step: number;
  error: string;
  /** The model that answered; null if none did. */
  model: string | null;
  /** Who is asked next instead; null: nobody else. */
  fallback: FallbackState | null;
  events: NewEvent[];
}

export type RunStore = ReturnType<typeof runStore>;

export function runStore(pool: Queryable, publish: Publish = () => {}) {
  const writeText = createTextWriter(pool, {
    onWritten: ({ workflow_id, task_id, event }, last) => publish(workflow_id, task_id, { events: [event], last }),
    writeSeparately: ({ event, ...place }) =>
      writeNumbered(appendText({ ...place, event: JSON.stringify(event) }), place, [event]),
  });

  async function writeNumbered(query: pg.QueryConfig, run: Pick<OpenRun, 'task_id' | 'workflow_id'>, events: NewEvent[]) {
    const last = (await row<{ last: number | null }>(pool, query))?.last ?? null;
    if (last !== null) publish(run.workflow_id, run.task_id, { events, last });
    return last;
  }

  /** Returns true if it is written, also if it was before. */
  const write = async (query: pg.QueryConfig, { task_id, workflow_id }: OpenRun, events: NewEvent[]) => {
    const written = await row<{ last: number | null }>(pool, query);
    if (written && written.last !== null) publish(workflow_id, task_id, { events, last: written.last });
    return written !== undefined;
  };

  return {
    open: (task_id: string, step: number) => row<OpenRun>(pool, sql.openRun({ task_id, step })),
    /**
     * Starts the next attempt of a step and writes its input to the model. Returns the number of its last event; null if another
     * attempt was faster, or one of the messages that it takes was withdrawn.
     */
    begin(run: OpenRun, { step, turns, denied, fallback, asked, messages, taken, events }: Begin) {
      const values = { ...runParameters(run, events), step, turns, denied, messages: JSON.stringify(messages), taken };
      const moved = { fallback: fallback && JSON.stringify(fallback), seen_attempts: run.attempts };
      const { model, provider, position } = asked;
      const named = { model, provider_id: provider?.id ?? null, provider_name: provider?.name ?? null, position };
      return writeNumbered(sql.beginAttempt({ ...values, ...moved, ...named }), run, events);
    },

    /** Emits events of the attempt that `run` began. Returns the last one's number; null if a later attempt owns the step. */
    publishDeltas: (run: OpenRun, { step, events }: { step: number; events: NewEvent[] }) =>
      writeNumbered(appendDeltas(attemptParameters(run, step, events)), run, events),

    /**
     * Emits a piece of the attempt's text, written together with the texts of other runs. `after` is the number of the attempt's
     * event before it. If the database failed, send the same text again: it is written once.
     */
    publishText: (
      { task_id, workflow_id, attempts }: OpenRun,
      { step, after, event }: { step: number; after: number; event: NewEvent },
    ) => writeText({ task_id, workflow_id, step, attempt: attempts + 1, after, event }),

    /**
     * Writes the reply of a step once. Returns false if another attempt has written it or owns the step; `text_differs` if
     * nothing was written, because the published text is not on record as it was published; `steered` if it is written, and messages
     * that waited have entered the run after it.
     */
    async record(run: OpenRun, reply: StepRecord): Promise<boolean | 'text_differs' | 'steered'> {
      const { step, model, provider, fallback, finish, messages, calls, cursor, response, published, events } = reply;
      const query = sql.writeReply({
        ...attemptParameters(run, step, events),
        ...chargeParameters(reply),
        model,
        provider_id: provider?.id ?? null,
        provider_name: provider?.name ?? null,
        fallback,
        finish,
        messages: JSON.stringify(messages),
        calls: JSON.stringify(calls),
        cursor: cursor == null ? null : JSON.stringify(cursor),
        response: response === undefined ? null : JSON.stringify(response),
        texts_after: published?.after ?? 0,
        texts: published?.count ?? 0,
        text_bytes: published?.bytes ?? 0,
      });
      const replied = await row<{ last: number; taken: NewEvent[] } | { last: null }>(pool, query);
      if (replied?.last == null) return replied ? 'text_differs' : false;
      publish(run.workflow_id, run.task_id, { events: [...events, ...replied.taken], last: replied.last });
      return replied.taken.length > 0 ? 'steered' : true;
    },

    /** Emits events of a waiting run. */
    publish: (run: OpenRun, events: NewEvent[]) => write(sql.tellRun(runParameters(run, events)), run, events),

    /** Freezes the tools found for a run. Returns false if they were frozen before. */
    freezeToolset: (run: OpenRun, { toolset, events }: { toolset: unknown; events: NewEvent[] }) =>
      write(sql.freezeToolset({ ...runParameters(run, events), toolset: JSON.stringify(toolset) }), run, events),

    /** Writes a summary of older messages with its cost, once. Returns false if another attempt owns the step. */
    compact(run: OpenRun, { step, message, events, ...charged }: Compaction) {
      const values = {
        ...attemptParameters(run, step, events),
        ...chargeParameters(charged),
        message: JSON.stringify([message]),
      };
      return write(compactTranscript(values), run, events);
    },

    /** Parks the run until its budget is raised. `in_line`: it waits for a budget above it, and keeps its place among those that do. */
    wait: (run: OpenRun, { step, events, in_line = false }: { step: number; events: NewEvent[]; in_line?: boolean }) =>
      write(waitForBudget({ ...attemptParameters(run, step, events), in_line }), run, events),

    /** Counts a failure of a step and its cost, once, and moves the run to a fallback. Returns false if another attempt owns the step. */
    noteError(run: OpenRun, { step, error, model, fallback, events, ...charged }: FailedStep) {
      const values = { ...attemptParameters(run, step, events), ...chargeParameters(charged) };
      return write(sql.noteError({ ...values, error, model, fallback: fallback && JSON.stringify(fallback) }), run, events);
    },

    /**
     * Counts the usage of an attempt that a halt stopped. Returns false if another attempt owns the step, or the task has ended.
     */
    noteHalted(run: OpenRun, { step, model, events, ...charged }: HaltedStep) {
      const values = { ...attemptParameters(run, step, events), ...chargeParameters(charged) };
      return write(sql.noteHalted({ ...values, model }), run, events);
    },

    /** Adds to a run's usage and emits the events. */
    note: (run: OpenRun, { events, ...charged }: Charged & { events: NewEvent[] }) =>
      write(sql.noteUsage({ ...runParameters(run, events), ...chargeParameters(charged) }), run, events),

    settle: createSettle(pool, publish),
  };
}

const runParameters = ({ task_id, workflow_id }: OpenRun, events: NewEvent[]) => ({
  task_id,
  workflow_id,
  events: JSON.stringify(events),
});

/** Returns the parameters of writes by the attempt that `begin` created. */
const attemptParameters = (run: OpenRun, step: number, events: NewEvent[]) => ({
  ...runParameters(run, events),
  step,
  attempt: run.attempts + 1,
});

const chargeParameters = ({ usage, reservation = null }: Charged) => ({ ...usageParameters(usage), reservation });

const usageParameters = ({ total_in, total_out, cache_read, cache_write, cost, estimated = false, unpriced_models }: Usage) => ({
  total_in,
  total_out,
  cache_read,
  cache_write,
  cost,
  estimated,
  unpriced_model: unpriced_models?.[0] ?? null,
});
