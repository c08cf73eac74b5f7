import { statement } from '../statement.ts';

/**
 * As many of these events as fit into :bytes, at least one; `found` is the number of all. One above :large comes without its data, so
 * that a page is small whatever it holds. The stored size is known without reading the data, and is never above its size as text by much.
 */
const paged = (
  events: string,
) => `SELECT seq, task_id, type, timestamp, CASE WHEN carried > 0 THEN data END AS data, carried, found
  FROM (
    SELECT sized.*, (count(*) OVER ())::integer AS found, sum(carried) OVER (ORDER BY seq) - carried AS before FROM (
      SELECT seq, task_id, type, timestamp, data, CASE WHEN pg_column_size(data) > :large THEN 0
          WHEN octet_length(data::text) > :large THEN 0 ELSE octet_length(data::text) END AS carried
        FROM events WHERE ${events} ORDER BY seq LIMIT :limit) AS sized) AS page
  WHERE before < :bytes ORDER BY seq`;

export const readEvents = statement(
  'read_events',
  ['workflow_id', 'after', 'limit', 'bytes', 'large'],
  paged('workflow_id = :workflow_id AND seq > :after'),
);

/** A separate statement, so that it uses the task's index and does not scan all earlier runs of the workflow. */
export const readTaskEvents = statement(
  'read_task_events',
  ['workflow_id', 'after', 'limit', 'bytes', 'large', 'task_id'],
  paged('task_id = :task_id AND workflow_id = :workflow_id AND seq > :after'),
);

export const readEvent = statement(
  'read_event',
  ['workflow_id', 'seq'],
  `SELECT seq, task_id, type, data, timestamp FROM events WHERE workflow_id = :workflow_id AND seq = :seq`,
);

export const extentOfEvents = statement(
  'extent_of_events',
  ['workflow_id', 'task_id'],
  `SELECT coalesce((SELECT last_seq FROM event_sequences WHERE workflow_id = :workflow_id), 0) AS last,
    NOT EXISTS (SELECT 1 FROM tasks WHERE id = :task_id AND completed_at IS NULL) AS over`,
);

export const firstEventOfLastTask = statement(
  'first_event_of_last_task',
  ['workflow_id'],
  `SELECT coalesce(min(e.seq), 1) - 1 AS after
    FROM workflows w LEFT JOIN events e ON e.task_id = coalesce(w.active_task_id, w.last_task_id)
    WHERE w.id = :workflow_id`,
);

/** Deletes deltas whose complete message is stored. */
export const trimDeltas = statement(
  'trim_deltas',
  ['before'],
  `DELETE FROM events WHERE type = 'message_delta' AND timestamp < :before AND task_id IN (
    SELECT id FROM tasks WHERE completed_at IS NOT NULL AND completed_at < :before)`,
);
