import { statement } from '../statement.ts';

/** One statement: a settled fire is not served again, so the time of its run could not be written later. */
export const settleFire = statement(
  'settle_fire',
  ['scheduled_agent_id', 'due_at', 'outcome', 'detail', 'task_id'],
  `WITH fire AS (
      UPDATE schedule_fires SET outcome = :outcome, detail = :detail, task_id = :task_id
      WHERE scheduled_agent_id = :scheduled_agent_id AND due_at = :due_at AND outcome = 'firing' RETURNING task_id)
    UPDATE scheduled_agents SET last_run_at = greatest(last_run_at, now())
    WHERE id = :scheduled_agent_id AND (SELECT task_id FROM fire) IS NOT NULL`,
);
