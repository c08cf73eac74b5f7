import type pg from 'pg';
import type { AskedCall, ForkEffects, RecordedCall } from '../domain/fork.ts';
import { FORK_PROMPT_POSITION } from '../domain/fork.ts';
import type { PlannedCall } from '../domain/run-loop.ts';
import { OUTCOME_UNKNOWN } from '../domain/transcript.ts';
import { type Queryable, row, rows } from './database.ts';
import * as sql from './statements/forks.ts';
import type { OpenCall } from './tool-ledger.ts';

/** What a forked task begins with. */
export interface Seed {
  /** The run it is forked from. */
  task_id: string;
  step: number;
  effects: ForkEffects;
  /** Of the source's definition, which the fork keeps. */
  definition_hash: string;
  /** Tool calls made before the step. */
  turns: number;
  /** False where the fork begins with a prompt of its own, so that nothing of the source is in it. */
  copied: boolean;
  /** Told to the model before the step, after all that is copied. */
  message: string | null;
}

/** Makes a task that was just written, and that nobody sees yet, a fork. */
export async function seed(connection: Queryable, fork_id: string, from: Seed): Promise<void> {
  const { task_id, step, effects, turns, copied, message } = from;
  await row(connection, sql.markFork({ fork_id, source_id: task_id, step, effects, turns }));
  if (!copied) return;
  for (const copy of [sql.copySteps, sql.copyCalls, sql.copyMessages])
    await row(connection, copy({ fork_id, source_id: task_id, step }));
  const place = { fork_id, step: step - 1, first_position: FORK_PROMPT_POSITION };
  if (message !== null) await row(connection, sql.addForkMessage({ ...place, content: message }));
}

export type ForkStore = ReturnType<typeof forkStore>;

/** Runs as what others are forked from. */
export function forkStore(pool: pg.Pool) {
  return {
    /** Steps that were begun, each with the calls it made. */
    steps: (task_id: string) => rows<{ step: number; calls: PlannedCall[] }>(pool, sql.stepsOfSource({ source_id: task_id })),
    /** What there is to answer a fork's call with, and the calls that may have had their answers before it. */
    async recordsFor({ task_id, step, position, name, fork }: OpenCall & { fork: NonNullable<OpenCall['fork']> }) {
      const [recorded, earlier] = await Promise.all([
        rows<RecordedCall>(
          pool,
          sql.recordedResults({ source_id: fork.task_id, from_step: fork.step, name, outcome_unknown: OUTCOME_UNKNOWN }),
        ),
        rows<AskedCall>(pool, sql.earlierCalls({ fork_id: task_id, from_step: fork.step, name, step, position })),
      ]);
      return { recorded, earlier };
    },
  };
}
