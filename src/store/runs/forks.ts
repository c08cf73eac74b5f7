import type pg from 'pg';
import { notFound } from '../../domain/errors.ts';
import type { AskedCall, ForkEffects, RecordedCall } from '../../domain/fork.ts';
import { FORK_PROMPT_POSITION } from '../../domain/fork.ts';
import type { MessageEdit } from '../../domain/fork-changes.ts';
import type { PlannedCall } from '../../domain/run-loop.ts';
import { OUTCOME_UNKNOWN } from '../../domain/transcript.ts';
import { type Queryable, row, rows } from '../database/database.ts';
import { markEvaluated, recordedCallsOfItem } from './evaluations.sql.ts';
import * as sql from './forks.sql.ts';
import { pinForkParts } from './pin.ts';
import type { OpenCall } from './tool-ledger.ts';

/** The data that a forked task starts with. */
export interface Seed {
  /** The run that the task is forked from. */
  task_id: string;
  step: number;
  effects: ForkEffects;
  /** The hash of the source's definition; null if the fork has a changed one. */
  definition_hash: string | null;
  /** The names of the fields that differ from the source. */
  changes: string[];
  /** The number of tool calls made before the step. */
  turns: number;
  /** False if the fork starts with a new prompt, so that nothing of the source is in it. */
  is_copy: boolean;
  /** The message sent to the model before the step, after everything copied. */
  message: string | null;
  /** The copied messages whose text is replaced. */
  edits: MessageEdit[];
  /** True if replies keep the data that only the source's provider understands. */
  keeps_extra: boolean;
}

/** Turns a task into a fork, in the transaction that created it. Throws `not_found` if the source was removed in the meantime. */
export async function seedFork(connection: Queryable, fork_id: string, from: Seed): Promise<void> {
  const { task_id, step, effects, turns, is_copy, message, edits, keeps_extra } = from;
  if (!(await row(connection, sql.holdSource({ source_id: task_id })))) throw notFound('task', task_id);
  await row(connection, sql.markFork({ fork_id, source_id: task_id, step, effects, turns }));
  if (!is_copy) return;
  const copied_until = { fork_id, source_id: task_id, step };
  await row(connection, sql.copySteps(copied_until));
  await row(connection, sql.copyCalls(copied_until));
  await row(connection, sql.copyMessages({ ...copied_until, keeps_extra }));
  await row(connection, sql.copySteerFiles({ fork_id, source_id: task_id }));
  if (edits.length > 0) await row(connection, sql.editMessages({ fork_id, edits: JSON.stringify(edits) }));
  const place = { fork_id, step: step - 1, first_position: FORK_PROMPT_POSITION };
  if (message !== null) await row(connection, sql.addForkMessage({ ...place, content: message }));
}

/** The way in which the tool calls of an evaluation's run are answered, and the version that it runs with. */
export interface Evaluated {
  definition_hash: string;
  effects: Exclude<ForkEffects, 'live'>;
}

/** Turns a task into one of an evaluation, in the transaction that created it. */
export async function markAsEvaluated(connection: Queryable, task_id: string, { effects }: Evaluated): Promise<void> {
  await row(connection, markEvaluated({ task_id, effects }));
}

export interface CopiedMessage {
  step: number;
  position: number;
  role: string;
  kind: string;
}

interface StepOfSource {
  step: number;
  calls: PlannedCall[];
  /** True if its answer was sent back to the model. */
  rejected: boolean;
}

export type ForkStore = ReturnType<typeof forkStore>;

/** Reads runs as sources of forks. */
export function forkStore(pool: pg.Pool) {
  return {
    /** Lists the started steps, each with its calls. */
    steps: (task_id: string) => rows<StepOfSource>(pool, sql.stepsOfSource({ source_id: task_id })),
    /** Lists the messages that a fork at the step copies. */
    messages: (task_id: string, step: number) => rows<CopiedMessage>(pool, sql.messagesBefore({ source_id: task_id, step })),
    /** Returns the current state of the parts that a fork's changes refer to. */
    parts: (selection: Parameters<typeof pinForkParts>[1]) => pinForkParts(pool, selection),
    /** Returns the recorded results that may answer a fork's call, and the calls that may have used them before. */
    async listRecords({ task_id, step, position, name, fork }: OpenCall & { fork: NonNullable<OpenCall['fork']> }) {
      const { task_id: source_id, step: from_step } = fork;
      const [recorded, earlier] = await Promise.all([
        rows<RecordedCall>(
          pool,
          source_id === null
            ? recordedCallsOfItem({ task_id, name })
            : sql.recordedResults({ source_id, from_step, name, outcome_unknown: OUTCOME_UNKNOWN }),
        ),
        rows<AskedCall>(pool, sql.earlierCalls({ fork_id: task_id, from_step, name, step, position })),
      ]);
      return { recorded, earlier };
    },
  };
}
