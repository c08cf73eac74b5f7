import type pg from 'pg';
import type { StoredEvent } from '../domain/events.ts';
import { row, rows } from './database.ts';
import * as sql from './statements/events.ts';

export function eventStore(pool: pg.Pool) {
  return {
    /** Events after a number, oldest first; only of `task_id` if given. */
    async read(
      workflow_id: string,
      { after, task_id, limit = 500 }: { after: number; task_id?: string | undefined; limit?: number },
    ) {
      const place = { workflow_id, after, limit };
      const query = task_id ? sql.readTaskEvents({ ...place, task_id }) : sql.readEvents(place);
      const found = await rows<Omit<StoredEvent, 'timestamp'> & { timestamp: Date }>(pool, query);
      return found.map((event): StoredEvent => ({ ...event, timestamp: event.timestamp.toISOString() }));
    },
    /** The number before the first event of the workflow's current or last run. */
    async beforeLastRun(workflow_id: string): Promise<number> {
      return (await row<{ after: number }>(pool, sql.firstEventOfLastTask({ workflow_id })))?.after ?? 0;
    },
    async trimDeltas(before: Date): Promise<void> {
      await rows(pool, sql.trimDeltas({ before }));
    },
  };
}
