import { LIVE, MESSAGES, messagesFrom } from './runs.ts';

/** Written only by the attempt that owns the step: $3 step, $4 its attempt. */
const MINE = `mine AS (
      SELECT 1 FROM tasks t JOIN task_steps s ON s.task_id = t.id
      WHERE t.id = $1 AND t.status IN (${LIVE}) AND s.step = $3 AND s.attempts = $4 AND s.ended_at IS NULL)`;

export const COMPACT = {
  name: 'compact_transcript',
  text: `WITH ${MINE},
    run AS (
      UPDATE tasks SET total_in = total_in + $5, total_out = total_out + $6, cache_read = cache_read + $7,
        cache_write = cache_write + $8, cost = cost + $9 WHERE id = $1 AND EXISTS (SELECT 1 FROM mine) RETURNING 1),
    message AS (INSERT INTO ${MESSAGES} ${messagesFrom('$10')} WHERE EXISTS (SELECT 1 FROM mine) ON CONFLICT DO NOTHING)
    SELECT append_events($2, $1, $11) AS last FROM mine WHERE (SELECT count(*) FROM run) >= 0`,
};

/** The run waits for its budget to be raised. */
export const WAIT = {
  name: 'wait_for_budget',
  text: `WITH ${MINE},
    lane AS (
      UPDATE workflows SET status = 'waiting' WHERE id = $2 AND active_task_id = $1 AND status = 'running'
        AND EXISTS (SELECT 1 FROM mine) RETURNING 1),
    run AS (
      UPDATE tasks SET status = 'waiting' WHERE id = $1 AND EXISTS (SELECT 1 FROM mine) AND (SELECT count(*) FROM lane) >= 0 RETURNING 1)
    SELECT append_events($2, $1, $5) AS last FROM mine WHERE (SELECT count(*) FROM run) >= 0`,
};

export const SET_BUDGET = {
  name: 'set_task_budget',
  text: `UPDATE tasks SET budget = $2::jsonb WHERE id = $1 AND status IN (${LIVE}) RETURNING 1 AS ok`,
};
