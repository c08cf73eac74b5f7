import { statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** The time after a task's end for which its cursor is retried: after that, the key or provider will not come back. */
export const openCursors = statement(
  'open_cursors',
  [],
  `SELECT id AS task_id, definition_hash FROM tasks
    WHERE cursor IS NOT NULL AND cursor <> 'null'::jsonb AND status NOT IN (${LIVE}) AND completed_at > now() - interval '1 day'
    ORDER BY random() LIMIT 100`,
);

export const forgetCursor = statement(
  'forget_cursor',
  ['task_id'],
  `UPDATE tasks SET cursor = NULL WHERE id = :task_id AND cursor IS NOT NULL AND status NOT IN (${LIVE})`,
);

export const leaveCursor = statement(
  'leave_cursor',
  ['task_id'],
  `UPDATE tasks SET cursor = '{}' WHERE id = :task_id AND cursor IS NULL AND status NOT IN (${LIVE})`,
);
