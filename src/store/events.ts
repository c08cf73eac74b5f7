import type pg from 'pg';
import type { EventExtent, ReaderPlace, StoredEvent } from '../domain/events.ts';
import { LONG_STATEMENT_MS, RUN_STATEMENT_MS, row, rows, within } from './database.ts';
import * as sql from './statements/events.ts';

/** The largest number that the record can hold. */
const LAST_NUMBER = 2 ** 31 - 1;

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
    /**
     * The end of the record as a reader who has seen the number `after` needs it. `epoch`: the last restore that the reader knows of;
     * 0 if it may have missed any.
     */
    async extent(workflow_id: string, { task_id, after, epoch }: ReaderPlace): Promise<EventExtent> {
      const place = { workflow_id, task_id, after: Math.min(after, LAST_NUMBER), epoch };
      const [extent] = await rows<EventExtent>(quick, sql.extentOfEvents(place));
      return extent as EventExtent;
    },
    /** The number before the first event of the workflow's current or last run. */
    async beforeLastRun(workflow_id: string): Promise<number> {
      return (await row<{ after: number }>(pool, sql.firstEventOfLastTask({ workflow_id })))?.after ?? 0;
    },
    async trimDeltas(before: Date): Promise<void> {
      await rows(within(pool, LONG_STATEMENT_MS), sql.trimDeltas({ before }));
    },
  };
}
