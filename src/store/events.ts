import type pg from 'pg';
import type { StoredEvent } from '../domain/events.ts';
import { LONG_STATEMENT_MS, RUN_STATEMENT_MS, row, rows, within } from './database.ts';
import * as sql from './statements/events.ts';

type EventRow = Omit<StoredEvent, 'timestamp'> & { timestamp: Date };
type PagedRow = Omit<EventRow, 'data'> & { data: StoredEvent['data'] | null; carried: number; found: number };

/** A larger event is not part of a page. */
const LARGE_BYTES = 64 * 1024;

const timed = ({ timestamp }: { timestamp: Date }) => ({ timestamp: timestamp.toISOString() });

export function eventStore(pool: pg.Pool) {
  const quick = within(pool, RUN_STATEMENT_MS);
  return {
    /** Events after a number, oldest first; only of `task_id` if given. At most `limit`, and as many as fit into `bytes`. */
    async read(
      workflow_id: string,
      { after, task_id, limit = 500, bytes }: { after: number; task_id?: string | undefined; limit?: number; bytes: number },
    ) {
      const place = { workflow_id, after, limit, bytes, large: LARGE_BYTES };
      const query = task_id ? sql.readTaskEvents({ ...place, task_id }) : sql.readEvents(place);
      const found = await rows<PagedRow>(quick, query);
      const events = found.map(({ carried: _size, found: _all, ...event }) => ({ ...event, ...timed(event) }));
      const total = found[0]?.found ?? 0;
      const size = found.reduce((sum, { carried }) => sum + carried, 0);
      return { events, bytes: size, more: total === limit || total > found.length };
    },
    async one(workflow_id: string, seq: number): Promise<StoredEvent | null> {
      const found = await row<EventRow>(quick, sql.readEvent({ workflow_id, seq }));
      return found ? { ...found, ...timed(found) } : null;
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
    async trimDeltas(before: Date): Promise<void> {
      await rows(within(pool, LONG_STATEMENT_MS), sql.trimDeltas({ before }));
    },
  };
}
