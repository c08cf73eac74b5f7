import type pg from 'pg';
import type { StoredEvent } from '../domain/events.ts';
import { row, rows } from './database.ts';

const READ = {
  name: 'read_events',
  text: `SELECT seq, task_id, type, data, timestamp FROM events WHERE workflow_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
};

/** A statement of its own, so that it goes by the task's index and not through all earlier runs of the workflow. */
const READ_TASK = {
  name: 'read_task_events',
  text: `SELECT seq, task_id, type, data, timestamp FROM events
    WHERE task_id = $4 AND workflow_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
};

const FIRST = {
  name: 'first_event_of_last_task',
  text: `SELECT coalesce(min(e.seq), 1) - 1 AS after FROM workflows w LEFT JOIN events e ON e.task_id = coalesce(w.active_task_id, w.last_task_id)
    WHERE w.id = $1`,
};

/** A delta is of no more use to anyone who reads its message instead. */
const TRIM = {
  name: 'trim_deltas',
  text: `DELETE FROM events WHERE type = 'message_delta' AND timestamp < $1 AND task_id IN (
    SELECT id FROM tasks WHERE completed_at IS NOT NULL AND completed_at < $1)`,
};

export function eventStore(pool: pg.Pool) {
  return {
    /** Events after a number, oldest first; of one task when it is named. */
    async read(
      workflow_id: string,
      { after, task_id, limit = 500 }: { after: number; task_id?: string | undefined; limit?: number },
    ) {
      const place = [workflow_id, after, limit];
      const [statement, values] = task_id ? [READ_TASK, [...place, task_id]] : [READ, place];
      const found = await rows<Omit<StoredEvent, 'timestamp'> & { timestamp: Date }>(pool, statement, values);
      return found.map((event): StoredEvent => ({ ...event, timestamp: event.timestamp.toISOString() }));
    },
    /** The number before the first event of the workflow's current or last run. */
    async beforeLastRun(workflow_id: string): Promise<number> {
      return (await row<{ after: number }>(pool, FIRST, [workflow_id]))?.after ?? 0;
    },
    async trimDeltas(before: Date): Promise<void> {
      await rows(pool, TRIM, [before]);
    },
  };
}
