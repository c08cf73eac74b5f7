import type pg from 'pg';
import type { EventExtent, ReaderPlace } from '../../events/follow.ts';
import type { StoredEvent } from '../../events/task-events.ts';
import { onlyRow, RUN_STATEMENT_MS, row, rows, withTimeLimit } from '../database/database.ts';
import * as sql from './events.sql.ts';

/** The largest number that the record can hold. */
const LAST_NUMBER = 2 ** 31 - 1;
type ExtentRow = Omit<EventExtent, 'begin_again_after'> & { void_from: number | null };
type WatchedRow = ExtentRow & Omit<Watched, 'extent'>;
type EventRow = StoredEvent & { timestamp: Date };
type PagedRow = (EventRow | (Omit<EventRow, 'data'> & { data: null })) & { carried: number; found: number };

export interface Watched {
  /** The owner of the workflow. */
  owner: string;
  /** True if the task, when one is named, belongs to the workflow. */
  has_task: boolean;
  extent: EventExtent | null;
}

const clampPlace = ({ after, ...place }: ReaderPlace): ReaderPlace => ({ ...place, after: Math.min(after, LAST_NUMBER) });

/** The size above which an event is not part of a page. */
const LARGE_BYTES = 64 * 1024;

const formatTimestamp = ({ timestamp }: { timestamp: Date }) => ({ timestamp: timestamp.toISOString() });

export function eventStore(pool: pg.Pool) {
  const quick = withTimeLimit(pool, RUN_STATEMENT_MS);
  return {
    /**
     * Reads events after a number, oldest first; with `task_id`, only those of that task. Returns at most `limit` events, and no
     * more than fit into `bytes`.
     */
    async read(
      workflow_id: string,
      { after, task_id, limit = 500, bytes }: { after: number; task_id?: string | undefined; limit?: number; bytes: number },
    ) {
      const place = { workflow_id, after, limit, bytes, large: LARGE_BYTES };
      const query = task_id ? sql.readTaskEvents({ ...place, task_id }) : sql.readEvents(place);
      const page_rows = await rows<PagedRow>(quick, query);
      const events = page_rows.map(({ carried: _size, found: _all, ...event }) => ({ ...event, ...formatTimestamp(event) }));
      const total = page_rows[0]?.found ?? 0;
      const size = page_rows.reduce((sum, { carried }) => sum + carried, 0);
      return { events, bytes: size, more: total === limit || total > page_rows.length };
    },
    async one(workflow_id: string, seq: number): Promise<StoredEvent | null> {
      const event = await row<EventRow>(quick, sql.readEvent({ workflow_id, seq }));
      return event ? { ...event, ...formatTimestamp(event) } : null;
    },
    /**
     * Returns the end of the record for a reader who has seen the number `after`. `epoch` is the last restore that the reader
     * knows of; 0 if it may have missed any.
     */
    async extent(workflow_id: string, place: ReaderPlace): Promise<EventExtent> {
      const [extent] = await rows<ExtentRow>(quick, sql.extentOfEvents({ workflow_id, ...clampPlace(place) }));
      const { void_from, ...end } = extent as ExtentRow;
      if (void_from === null) return { ...end, begin_again_after: null };
      const { after } = await onlyRow<{ after: number | null }>(
        quick,
        sql.beginningBefore({ workflow_id, task_id: place.task_id, seq: void_from }),
      );
      return { ...end, begin_again_after: after };
    },
    /**
     * Returns the facts that a stream needs before it begins; undefined if there is no such workflow. `extent` is null if the
     * reader has to begin again, so that the first number has to be read from the record.
     */
    async loadStreamState(workflow_id: string, place: ReaderPlace): Promise<Watched | undefined> {
      const extent_row = await row<WatchedRow>(quick, sql.watchedEvents({ workflow_id, ...clampPlace(place) }));
      if (!extent_row) return undefined;
      const { owner, has_task, void_from, ...end } = extent_row;
      return { owner, has_task, extent: void_from === null ? { ...end, begin_again_after: null } : null };
    },
    /** Returns the number before the first event of the workflow's current or last run. */
    async beforeLastRun(workflow_id: string): Promise<number> {
      return (await row<{ after: number }>(pool, sql.firstEventOfLastTask({ workflow_id })))?.after ?? 0;
    },
  };
}
