import { statement } from '../database/statement.ts';

/**
 * Returns as many of these events as fit into :bytes, at least one; `found` is the number of all. An event above :large comes
 * without its data, so that a page is small whatever it holds. The stored size is known without reading the data, and is never
 * much above its size as text.
 */
const buildPage = (
  events: string,
) => `SELECT seq, task_id, type, timestamp, CASE WHEN carried > 0 THEN data END AS data, carried, found
  FROM (
    SELECT sized.*, (count(*) OVER ())::integer AS found, sum(carried) OVER (ORDER BY seq) - carried AS before FROM (
      SELECT seq, task_id, type, timestamp, data, CASE WHEN pg_column_size(data) > :large THEN 0
          WHEN octet_length(data::text) > :large THEN 0 ELSE octet_length(data::text) END AS carried
        FROM events WHERE ${events} ORDER BY seq LIMIT :limit) AS sized) AS page
  WHERE before < :bytes ORDER BY seq`;

/** The range of the workflow's task ids, which determines the partitions of its events. */
const PARTITIONS = `task_id BETWEEN (SELECT t.id FROM tasks t WHERE t.workflow_id = :workflow_id ORDER BY t.id LIMIT 1)
  AND (SELECT t.id FROM tasks t WHERE t.workflow_id = :workflow_id ORDER BY t.id DESC LIMIT 1)`;

/**
 * True if the event's task exists: events of a removed task stay until their partition is dropped. This is not EXISTS, which may
 * become a join with all tasks.
 */
const WITH_TASK = `(SELECT true FROM tasks t WHERE t.id = events.task_id)`;

export const readEvents = statement(
  'read_events',
  ['workflow_id', 'after', 'limit', 'bytes', 'large'],
  buildPage(`workflow_id = :workflow_id AND seq > :after AND ${PARTITIONS} AND ${WITH_TASK}`),
);

/** A separate statement, so that it uses the task's index and does not scan all earlier runs of the workflow. */
export const readTaskEvents = statement(
  'read_task_events',
  ['workflow_id', 'after', 'limit', 'bytes', 'large', 'task_id'],
  buildPage('task_id = :task_id AND workflow_id = :workflow_id AND seq > :after'),
);

export const readEvent = statement(
  'read_event',
  ['workflow_id', 'seq'],
  `SELECT seq, task_id, type, data, timestamp FROM events WHERE workflow_id = :workflow_id AND seq = :seq AND ${PARTITIONS} AND ${WITH_TASK}`,
);

/**
 * Returns the end of the record, and where the reader's numbers stop being valid (`void_from`) if the reader has a number that is
 * not from this record: it is beyond the record's end, or void since an epoch after the reader's. The statement names no table of
 * events: a plan with all their partitions takes a millisecond to set up, and every open stream runs this every few seconds.
 */
const EXTENT = `WITH record AS (
      SELECT coalesce((SELECT last_seq FROM event_sequences WHERE workflow_id = w.id), 0) AS last FROM workflows w WHERE w.id = :workflow_id)
    SELECT coalesce((SELECT last FROM record), 0) AS last,
      coalesce((SELECT max(epoch) FROM event_gaps WHERE workflow_id = :workflow_id), 0) AS epoch,
      NOT EXISTS (SELECT 1 FROM tasks WHERE id = :task_id AND completed_at IS NULL) AS over,
      (SELECT least(CASE WHEN :after > r.last THEN r.last END, (SELECT min(g.after_seq) FROM event_gaps g
        WHERE g.workflow_id = :workflow_id AND g.epoch > :epoch AND g.after_seq < :after AND :after < g.through_seq))
        FROM record r) AS void_from`;
export const extentOfEvents = statement('extent_of_events', ['workflow_id', 'task_id', 'after', 'epoch'], EXTENT);

/** Returns the same for a new reader, with the facts that decide if the reader may read the events. */
export const watchedEvents = statement(
  'watched_events',
  ['workflow_id', 'task_id', 'after', 'epoch'],
  `SELECT w.owner, extent.*,
      :task_id::uuid IS NULL OR EXISTS (SELECT 1 FROM tasks WHERE id = :task_id AND workflow_id = :workflow_id) AS has_task
    FROM workflows w, (${EXTENT}) extent WHERE w.id = :workflow_id`,
);

/**
 * Returns the number from which a reader whose numbers are void from :seq on begins again: the start of the task that it follows,
 * or of the run that was current at that number.
 */
export const beginningBefore = statement(
  'beginning_before',
  ['workflow_id', 'task_id', 'seq'],
  `SELECT CASE WHEN :task_id::uuid IS NOT NULL THEN (SELECT 0 FROM tasks WHERE id = :task_id)
      ELSE coalesce((SELECT min(f.seq) - 1 FROM events f WHERE f.task_id = (
        SELECT events.task_id FROM events WHERE workflow_id = :workflow_id AND events.seq <= :seq AND ${PARTITIONS}
          AND ${WITH_TASK} ORDER BY events.seq DESC LIMIT 1)), 0)
    END AS after`,
);

/**
 * Returns the number before the first event of the last task; the end of the record if that task has no event, because it was
 * removed.
 */
export const firstEventOfLastTask = statement(
  'first_event_of_last_task',
  ['workflow_id'],
  `SELECT coalesce((SELECT min(e.seq) - 1 FROM events e WHERE e.task_id = t.id),
      (SELECT last_seq FROM event_sequences WHERE workflow_id = :workflow_id), 0) AS after
    FROM workflows w LEFT JOIN tasks t ON t.id = coalesce(w.active_task_id, w.last_task_id)
    WHERE w.id = :workflow_id`,
);
