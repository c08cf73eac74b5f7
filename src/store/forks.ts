import type pg from 'pg';
import type { AskedCall, ForkEffects, RecordedCall } from '../domain/fork.ts';
import { FORK_PROMPT_POSITION } from '../domain/fork.ts';
import type { PlannedCall } from '../domain/run-loop.ts';
import { OUTCOME_UNKNOWN } from '../domain/transcript.ts';
import { type Queryable, row, rows } from './database.ts';
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

const STEPS = {
  name: 'steps_of_source',
  text: `SELECT s.step, coalesce((SELECT json_agg(json_build_object('call_id', c.call_id, 'name', c.name) ORDER BY c.position)
      FROM tool_calls c WHERE c.task_id = s.task_id AND c.step = s.step), '[]'::json) AS calls
    FROM task_steps s WHERE s.task_id = $1 ORDER BY s.step`,
};

/*
 * $1 fork, $2 source, $3 step. What the copies cost was paid by the source. A summary stands at the last step it covers, but
 * belongs to the step that made it.
 */
const MARK = {
  name: 'mark_fork',
  text: `UPDATE tasks SET forked_from = $2, fork_step = $3, fork_effects = $4, turns = $5, toolset = source.toolset
    FROM tasks source WHERE tasks.id = $1 AND source.id = $2`,
};
const COPY_STEPS = {
  name: 'copy_steps',
  text: `INSERT INTO task_steps (task_id, step, model, finish, started_at, ended_at)
    SELECT $1::uuid, step, model, finish, started_at, ended_at FROM task_steps WHERE task_id = $2 AND step < $3`,
};
const COPY_CALLS = {
  name: 'copy_calls',
  text: `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, approval, status, failed, decided_by, stdout,
      stderr, duration_ms, started_at, ended_at, answered_by)
    SELECT $1::uuid, call_id, step, position, name, arguments, effect, approval, status, failed, decided_by, stdout,
      stderr, duration_ms, started_at, ended_at, CASE WHEN status = 'done' THEN coalesce(answered_by, 'recorded') END
    FROM tool_calls WHERE task_id = $2 AND step < $3`,
};
const COPY_MESSAGES = {
  name: 'copy_messages',
  text: `INSERT INTO task_messages (task_id, step, position, role, kind, content, tool_calls, call_id, extra, created_at)
    SELECT $1::uuid, step, position, role, kind, content, tool_calls, call_id, extra, created_at FROM task_messages
    WHERE task_id = $2 AND step < $3 AND (kind <> 'summary'
      OR created_at < (SELECT started_at FROM task_steps WHERE task_id = $2 AND step = $3))`,
};
const ADD_MESSAGE = {
  name: 'add_fork_message',
  text: `INSERT INTO task_messages (task_id, step, position, role, kind, content)
    SELECT $1::uuid, $2::int, coalesce(max(position), $3::int - 1) + 1, 'user', 'prompt', $4 FROM task_messages
    WHERE task_id = $1 AND step = $2::int AND position BETWEEN $3::int AND $3::int + 1000`,
};

/** Makes a task that was just written, and that nobody sees yet, a fork. */
export async function seed(connection: Queryable, fork_id: string, from: Seed): Promise<void> {
  const { task_id, step, effects, turns, copied, message } = from;
  await row(connection, MARK, [fork_id, task_id, step, effects, turns]);
  if (!copied) return;
  for (const copy of [COPY_STEPS, COPY_CALLS, COPY_MESSAGES]) await row(connection, copy, [fork_id, task_id, step]);
  if (message !== null) await row(connection, ADD_MESSAGE, [fork_id, step - 1, FORK_PROMPT_POSITION, message]);
}

/** $2 step, $3 name. Of the source only what a tool has said: neither stubs nor refusals, nor outcomes that nobody knows. */
const RECORDED = {
  name: 'recorded_results',
  text: `SELECT c.name, c.arguments, m.content, c.failed FROM tool_calls c
    JOIN task_messages m ON m.task_id = c.task_id AND m.step = c.step AND m.position = c.position
    WHERE c.task_id = $1 AND c.step >= $2 AND c.name = $3 AND c.status = 'done' AND m.kind = 'result'
      AND coalesce(c.answered_by, 'recorded') = 'recorded' AND m.content <> '${OUTCOME_UNKNOWN}'
    ORDER BY c.step, c.position`,
};

const EARLIER = {
  name: 'earlier_calls',
  text: `SELECT name, arguments FROM tool_calls
    WHERE task_id = $1 AND step >= $2 AND name = $3 AND (step, position) < ($4, $5)`,
};

export type ForkStore = ReturnType<typeof forkStore>;

/** Runs as what others are forked from. */
export function forkStore(pool: pg.Pool) {
  return {
    /** Steps that were begun, each with the calls it made. */
    steps: (task_id: string) => rows<{ step: number; calls: PlannedCall[] }>(pool, STEPS, [task_id]),
    /** What there is to answer a fork's call with, and the calls that may have had their answers before it. */
    async recordsFor({ task_id, step, position, name, fork }: OpenCall & { fork: NonNullable<OpenCall['fork']> }) {
      const [recorded, earlier] = await Promise.all([
        rows<RecordedCall>(pool, RECORDED, [fork.task_id, fork.step, name]),
        rows<AskedCall>(pool, EARLIER, [task_id, fork.step, name, step, position]),
      ]);
      return { recorded, earlier };
    },
  };
}
