import { statement } from '../database/statement.ts';

/** Settles a fire in one statement: it is not served again once settled, so the time of its run could not be written later. */
export const settleFire = statement(
  'settle_fire',
  ['scheduled_agent_id', 'due_at', 'outcome', 'detail', 'task_id'],
  `WITH fire AS (
      UPDATE schedule_fires SET outcome = :outcome, detail = :detail, task_id = :task_id
      WHERE scheduled_agent_id = :scheduled_agent_id AND due_at = :due_at AND outcome = 'firing' RETURNING task_id)
    UPDATE scheduled_agents SET last_run_at = greatest(last_run_at, now())
    WHERE id = :scheduled_agent_id AND (SELECT task_id FROM fire) IS NOT NULL`,
);

/** Returns a run of the schedule that has not begun and waits because another task has its workflow's lane. */
export const waitingTaskOfSchedule = statement(
  'waiting_task_of_schedule',
  ['scheduled_agent_id', 'except'],
  `SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id
    WHERE t.scheduled_agent_id = :scheduled_agent_id AND t.status = 'pending' AND t.id <> :except
      AND w.active_task_id IS DISTINCT FROM t.id AND NOT t.beside_lane LIMIT 1`,
);

/**
 * Pauses schedules whose runs keep failing. Reads the due times since a schedule was last saved whose result is known: the run
 * completed or failed, or there was none because it was refused. With an id, reads only those of that schedule.
 */
export const pauseFailingSchedules = statement(
  'pause_failing_schedules',
  ['id'],
  `UPDATE scheduled_agents s SET enabled = false, updated_at = now(),
      disabled_reason = CASE s.pause_after_failures WHEN 1 THEN 'The last run failed'
        ELSE format('The last %s runs failed', s.pause_after_failures) END || '; enable the schedule to continue'
    FROM (
      SELECT a.id, count(*) AS ended, count(*) FILTER (WHERE known.failed) AS failed
      FROM scheduled_agents a CROSS JOIN LATERAL (
        SELECT f.outcome = 'failed' OR t.status = 'failed' AS failed
        FROM schedule_fires f LEFT JOIN tasks t ON t.id = f.task_id
        WHERE f.scheduled_agent_id = a.id AND f.fired_at > a.updated_at
          AND (f.outcome = 'failed' OR t.status IN ('completed', 'failed'))
        ORDER BY f.fired_at DESC, f.due_at DESC LIMIT a.pause_after_failures) known
      WHERE a.enabled AND a.pause_after_failures IS NOT NULL AND (:id::uuid IS NULL OR a.id = :id)
      GROUP BY a.id) last
    WHERE s.id = last.id AND s.enabled AND last.failed >= s.pause_after_failures
    RETURNING s.id`,
);
