import type pg from 'pg';
import { row, rows } from './database.ts';
import * as sql from './statements/cursors.ts';

/** What is still kept for a task that has ended at its model's provider. */
interface OpenCursor {
  task_id: string;
  definition_hash: string;
}

export function cursorStore(pool: pg.Pool) {
  return {
    /** Tasks that ended lately and whose cursors have not been forgotten; where they are many, some, so that each has its turn. */
    open: () => rows<OpenCursor>(pool, sql.openCursors()),
    /** Nothing is kept for the task any more. */
    async forget(task_id: string): Promise<void> {
      await row(pool, sql.forgetCursor({ task_id }));
    },
    /** Something may be kept for the task, though no reply of it said what. */
    async leave(task_id: string): Promise<void> {
      await row(pool, sql.leaveCursor({ task_id }));
    },
  };
}
