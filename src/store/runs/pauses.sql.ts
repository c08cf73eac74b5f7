import { hasRun, statement } from '../database/statement.ts';
import { PAYERS, SPENT_FROM_CAPS } from './caps-parts.ts';
import { buildMessageRows, LIVE, MESSAGES, SPENT_BY_STEP, SPENT_BY_TASK, WAITS } from './runs.sql.ts';

/** Holds one row if this attempt owns the step: only the owner writes. */
const MINE = `mine AS (
      SELECT 1 FROM tasks t JOIN task_steps s ON s.task_id = t.id
      WHERE t.id = :task_id AND t.status IN (${LIVE}) AND s.step = :step AND s.attempts = :attempt AND s.ended_at IS NULL)`;

/**
 * A summary and what it has used. The same one may be written again, since its answer may be lost: it counts once, and the row then has no
 * number.
 */
export const compactTranscript = statement(
  'compact_transcript',
  [
    'task_id',
    'workflow_id',
    'step',
    'attempt',
    'total_in',
    'total_out',
    'cache_read',
    'cache_write',
    'cost',
    'estimated',
    'unpriced_model',
    'message',
    'events',
    'reservation',
  ],
  `WITH ${MINE},
    message AS (
      INSERT INTO ${MESSAGES} ${buildMessageRows(':message')} WHERE EXISTS (SELECT 1 FROM mine) ON CONFLICT DO NOTHING RETURNING 1),
    run AS (UPDATE tasks SET ${SPENT_BY_TASK} WHERE id = :task_id AND EXISTS (SELECT 1 FROM message) RETURNING ${PAYERS}),
    step AS (
      UPDATE task_steps SET ${SPENT_BY_STEP} WHERE task_id = :task_id AND step = :step AND EXISTS (SELECT 1 FROM run) RETURNING 1)
    SELECT append_events(:workflow_id, :task_id, :events) AS last, ${SPENT_FROM_CAPS} FROM run WHERE ${hasRun('step')}
    UNION ALL SELECT NULL, NULL FROM mine WHERE NOT EXISTS (SELECT 1 FROM message)`,
);

/** Makes the run wait until its budget is raised. Unless `in_line`, it waits for no budget above it any longer. */
export const waitForBudget = statement(
  'wait_for_budget',
  ['task_id', 'workflow_id', 'step', 'attempt', 'events', 'in_line'],
  `WITH ${MINE},
    lane AS (
      UPDATE workflows SET status = 'waiting' WHERE id = :workflow_id AND active_task_id = :task_id AND status = 'running'
        AND EXISTS (SELECT 1 FROM mine) RETURNING 1),
    run AS (
      UPDATE tasks SET ${WAITS} WHERE id = :task_id AND EXISTS (SELECT 1 FROM mine)
        AND ${hasRun('lane')} RETURNING 1),
    line AS (DELETE FROM budget_waits WHERE task_id = :task_id AND NOT :in_line AND EXISTS (SELECT 1 FROM run))
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM mine WHERE ${hasRun('run')}`,
);

export const setTaskBudget = statement(
  'set_task_budget',
  ['task_id', 'budget'],
  `UPDATE tasks SET budget = :budget::jsonb WHERE id = :task_id AND status IN (${LIVE}) RETURNING 1 AS ok`,
);
