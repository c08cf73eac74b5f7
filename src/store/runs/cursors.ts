import type pg from 'pg';
import { row, rows } from '../database/database.ts';
import * as sql from './cursors.sql.ts';

/** State that a model provider still stores for a task that has ended. */
interface OpenCursor {
  task_id: string;
  definition_hash: string;
}

export function cursorStore(pool: pg.Pool) {
  return {
    /** Returns recently ended tasks that still have a cursor; a sample if there are many, so that each gets its turn. */
    open: () => rows<OpenCursor>(pool, sql.openCursors()),
    /** Records that the provider stores nothing more for the task. */
    async forget(task_id: string): Promise<void> {
      await row(pool, sql.forgetCursor({ task_id }));
    },
    /** Records that the provider may store state for the task, although no reply named it. */
    async leave(task_id: string): Promise<void> {
      await row(pool, sql.leaveCursor({ task_id }));
    },
  };
}
