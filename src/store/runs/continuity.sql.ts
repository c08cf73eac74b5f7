import { hasRun, statement } from '../database/statement.ts';
import { LIVE, WAITS } from './runs.sql.ts';
import { HOLDER, IN_LANE } from './tasks.sql.ts';

/** Parks a run whose record is behind, once for each of its executions. Takes locks in the order of runs.sql.ts. */
export const parkBehind = statement(
  'park_behind',
  ['task_id', 'workflow_id', 'run_id', 'missing', 'events'],
  `WITH fresh AS (SELECT 1 FROM tasks WHERE id = :task_id AND status IN (${LIVE}) AND behind_run_id IS DISTINCT FROM :run_id),
    lane AS (
      UPDATE workflows SET status = 'waiting' WHERE id = :workflow_id AND active_task_id = :task_id AND status = 'running'
        AND EXISTS (SELECT 1 FROM fresh) RETURNING 1),
    run AS (
      UPDATE tasks SET ${WAITS}, record_behind = :missing, behind_run_id = :run_id, continuity = NULL
      WHERE id = :task_id AND status IN (${LIVE}) AND behind_run_id IS DISTINCT FROM :run_id
        AND ${hasRun('lane')} RETURNING 1)
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM run`,
);

/**
 * Marks a task as restored. An execution leaves a call only once the call's end is on record, so a call that it has passed and
 * that is open on record was reopened by a restore.
 */
export const doubtCalls = statement(
  'doubt_calls',
  ['task_id', 'step', 'denied', 'calls'],
  `UPDATE tasks SET restored_at = now() WHERE id = :task_id AND status IN (${LIVE}) AND restored_at IS NULL
      AND EXISTS (SELECT 1 FROM tool_calls c WHERE c.task_id = :task_id AND c.status NOT IN ('done', 'denied')
        AND ((c.step < :step AND c.call_id <> ALL (:denied::text[])) OR c.call_id = ANY (:calls::text[]))) RETURNING 1 AS doubted`,
);

/**
 * Writes a person's decision about a parked run. A resumed run that does not hold its lane waits for it like any other. The rest of
 * its status follows from what it does next.
 */
export const decideContinuity = statement(
  'decide_continuity',
  ['task_id', 'workflow_id', 'decision', 'events'],
  `WITH run AS (
      UPDATE tasks SET continuity = :decision,
        restored_at = CASE WHEN :decision = 'resume' THEN coalesce(restored_at, now()) ELSE restored_at END,
        record_behind = CASE WHEN :decision = 'resume' THEN NULL ELSE record_behind END,
        status = CASE WHEN :decision = 'resume' AND NOT EXISTS (
          SELECT 1 FROM ${IN_LANE} WHERE t.id = :task_id AND ${HOLDER} = t.id) THEN 'pending' ELSE status END
      WHERE id = :task_id AND status = 'waiting' AND record_behind IS NOT NULL AND continuity IS NULL
        AND (:decision = 'fail' OR EXISTS (SELECT 1 FROM definitions WHERE hash = definition_hash)) RETURNING 1)
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM run`,
);

/** Records that a decision has been carried out, unless the run was parked again in the meantime. */
export const continuityDone = statement(
  'continuity_done',
  ['task_id', 'run_id'],
  `UPDATE tasks SET continuity = NULL WHERE id = :task_id AND behind_run_id = :run_id RETURNING 1 AS done`,
);
