import type pg from 'pg';
import { row, rows } from './database.ts';
import { LIVE } from './statements/runs.ts';

/** What is still kept for a task that has ended at its model's provider. */
interface OpenCursor {
  task_id: string;
  definition_hash: string;
}

/** So long after its end a task's cursor is still worth an attempt: by then the key or the provider is not coming back. */
const OPEN = {
  name: 'open_cursors',
  text: `SELECT id AS task_id, definition_hash FROM tasks
    WHERE cursor IS NOT NULL AND cursor <> 'null'::jsonb AND status NOT IN (${LIVE}) AND completed_at > now() - interval '1 day'
    ORDER BY random() LIMIT 100`,
};

const FORGET = {
  name: 'forget_cursor',
  text: `UPDATE tasks SET cursor = NULL WHERE id = $1 AND cursor IS NOT NULL AND status NOT IN (${LIVE})`,
};

const LEAVE = {
  name: 'leave_cursor',
  text: `UPDATE tasks SET cursor = '{}' WHERE id = $1 AND cursor IS NULL AND status NOT IN (${LIVE})`,
};

export function cursorStore(pool: pg.Pool) {
  return {
    /** Tasks that ended lately and whose cursors have not been forgotten; where they are many, some, so that each has its turn. */
    open: () => rows<OpenCursor>(pool, OPEN, []),
    /** Nothing is kept for the task any more. */
    async forget(task_id: string): Promise<void> {
      await row(pool, FORGET, [task_id]);
    },
    /** Something may be kept for the task, though no reply of it said what. */
    async leave(task_id: string): Promise<void> {
      await row(pool, LEAVE, [task_id]);
    },
  };
}
