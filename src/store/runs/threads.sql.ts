import { hasRun, statement } from '../database/statement.ts';
import { LIVE } from './runs.sql.ts';

/** Deletes a thread with its tasks, unless one of them is in progress or waits for its turn; their events are left, by the ids that are returned. */
export const removeThread = statement(
  'remove_thread',
  ['id'],
  `WITH its_tasks AS MATERIALIZED (SELECT id FROM tasks WHERE thread_id = :id),
    gone AS (
      DELETE FROM threads WHERE id = :id AND active_task_id IS NULL
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE thread_id = :id AND status IN (${LIVE})) RETURNING 1)
    SELECT ARRAY(SELECT id FROM its_tasks) AS task_ids FROM gone`,
);

/** Deletes the events of deleted tasks, in whatever partitions they are. */
export const removeEventsOfTasks = statement(
  'remove_events_of_tasks',
  ['task_ids'],
  `DELETE FROM events WHERE task_id = ANY (:task_ids::uuid[])`,
);

/** What a run read of the turns before when it began. */
export const earlierMessages = statement('earlier_messages', ['task_id'], `SELECT earlier_messages(:task_id, true) AS earlier`);

/** Adds completed turns that hold given messages, in order, with the definition of all. Returns how many were added: none, or all. */
export const addImportedTurns = statement(
  'add_imported_turns',
  ['hash', 'definition', 'turns'],
  `WITH definition AS (INSERT INTO definitions (hash, body) VALUES (:hash, :definition::jsonb) ON CONFLICT DO NOTHING RETURNING hash)
    SELECT count(import_turn(given -> 'turn', given -> 'messages'))::int AS added
    FROM jsonb_array_elements(:turns::jsonb) AS each (given) WHERE ${hasRun('definition')}`,
);

/**
 * Makes a thread that begins with a task, once; the thread has its id. A task that never was in a thread has no number yet.
 * Locks the thread, then the task.
 */
export const beginThreadAt = statement(
  'begin_thread_at',
  ['task_id'],
  `WITH first AS MATERIALIZED (SELECT * FROM tasks WHERE id = :task_id),
    made AS (
      INSERT INTO threads (id, owner, owner_login, workflow_id, title, head_task_id, created_at, updated_at)
      SELECT id, owner, owner_login, workflow_id, nullif(left(btrim(prompt), 80), ''), id, created_at, now() FROM first WHERE thread_id IS NULL
      ON CONFLICT DO NOTHING RETURNING id),
    joined AS (
      UPDATE tasks t SET thread_id = t.id, thread_turn = coalesce(t.thread_turn, 1)
      WHERE t.id IN (SELECT id FROM made) RETURNING 1)
    SELECT coalesce(thread_id, id) AS thread_id FROM first`,
);
