import { statement } from '../statement.ts';

export const readEvents = statement(
  'read_events',
  ['workflow_id', 'after', 'limit'],
  `SELECT seq, task_id, type, data, timestamp FROM events WHERE workflow_id = :workflow_id AND seq > :after ORDER BY seq LIMIT :limit`,
);

/** A separate statement, so that it uses the task's index and does not scan all earlier runs of the workflow. */
export const readTaskEvents = statement(
  'read_task_events',
  ['workflow_id', 'after', 'limit', 'task_id'],
  `SELECT seq, task_id, type, data, timestamp FROM events
    WHERE task_id = :task_id AND workflow_id = :workflow_id AND seq > :after ORDER BY seq LIMIT :limit`,
);

export const extentOfEvents = statement(
  'extent_of_events',
  ['workflow_id', 'task_id'],
  `SELECT coalesce((SELECT last_seq FROM event_sequences WHERE workflow_id = :workflow_id), 0) AS last,
    NOT EXISTS (SELECT 1 FROM tasks WHERE id = :task_id AND completed_at IS NULL) AS over`,
);

/** The end of the record if the last task has no event, because it was removed. */
export const firstEventOfLastTask = statement(
  'first_event_of_last_task',
  ['workflow_id'],
  `SELECT coalesce(min(e.seq) - 1, (SELECT last_seq FROM event_sequences WHERE workflow_id = :workflow_id), 0) AS after
    FROM workflows w LEFT JOIN events e ON e.task_id = coalesce(w.active_task_id, w.last_task_id)
    WHERE w.id = :workflow_id`,
);
