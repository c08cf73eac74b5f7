import type pg from 'pg';
import type { StoredEvent } from '../domain/events.ts';
import { RUN_STATEMENT_MS, row, rows, within } from './database.ts';
import * as sql from './statements/events.ts';

export function eventStore(pool: pg.Pool) {
  const quick = within(pool, RUN_STATEMENT_MS);
  return {
    /** Events after a number, oldest first; only of `task_id` if given. */
    async read(
      workflow_id: string,
      { after, task_id, limit = 500 }: { after: number; task_id?: string | undefined; limit?: number },
    ) {
      const place = { workflow_id, after, limit };
      const query = task_id ? sql.readTaskEvents({ ...place, task_id }) : sql.readEvents(place);
      const found = await rows<Omit<StoredEvent, 'timestamp'> & { timestamp: Date }>(quick, query);
      return found.map((event): StoredEvent => ({ ...event, timestamp: event.timestamp.toISOString() }));
    },
    /** The last number that the workflow has given out, and whether the task, if one is named, has ended or is gone. */
    async extent(workflow_id: string, task_id: string | null): Promise<{ last: number; over: boolean }> {
      const [extent] = await rows<{ last: number; over: boolean }>(quick, sql.extentOfEvents({ workflow_id, task_id }));
      return extent as { last: number; over: boolean };
    },
    /** The number before the first event of the workflow's current or last run. */
    async beforeLastRun(workflow_id: string): Promise<number> {
      return (await row<{ after: number }>(pool, sql.firstEventOfLastTask({ workflow_id })))?.after ?? 0;
    },
  };
}
