import { statement } from '../database/statement.ts';

/** The turn of a branch that follows a turn, or its first one. No row: the branch has no such turn. */
export const turnAfter = statement(
  'turn_of_branch_after',
  ['head_task_id', 'previous_task_id'],
  `WITH RECURSIVE branch AS (
      SELECT id, previous_task_id FROM tasks WHERE id = :head_task_id
      UNION ALL SELECT t.id, t.previous_task_id FROM branch b JOIN tasks t ON t.id = b.previous_task_id
        WHERE b.previous_task_id IS DISTINCT FROM :previous_task_id::uuid)
    SELECT id FROM branch WHERE previous_task_id IS NOT DISTINCT FROM :previous_task_id::uuid`,
);

/**
 * The newest turns of a branch, oldest first, each with its own messages and calls. `last_event` is known of a turn that waits: a client
 * continues its stream after that.
 */
export const turnsOfBranch = statement(
  'turns_of_branch',
  ['head_task_id', 'limit'],
  `WITH RECURSIVE branch AS (
      SELECT id, previous_task_id, 1 AS distance FROM tasks WHERE id = :head_task_id
      UNION ALL SELECT t.id, t.previous_task_id, b.distance + 1 FROM branch b JOIN tasks t ON t.id = b.previous_task_id
        WHERE b.distance < :limit)
    SELECT t.id AS task_id, t.workflow_id, t.status, t.prompt, coalesce(t.attachments, '[]') AS attachments, t.definition_hash,
      CASE WHEN t.status = 'waiting' THEN (SELECT max(seq) FROM events e WHERE e.task_id = t.id) END AS last_event,
      (SELECT coalesce(json_agg(json_build_object('step', m.step, 'position', m.position, 'role', m.role, 'kind', m.kind, 'content', m.content,
          'tool_calls', m.tool_calls, 'call_id', m.call_id, 'extra', m.extra) ORDER BY m.step, m.position), '[]')
        FROM task_messages m WHERE m.task_id = t.id) AS messages,
      (SELECT coalesce(json_agg(json_build_object('call_id', c.call_id, 'name', c.name, 'approval', c.approval, 'status', c.status,
          'failed', c.failed, 'duration_ms', c.duration_ms) ORDER BY c.step, c.position), '[]')
        FROM tool_calls c WHERE c.task_id = t.id) AS calls
    FROM branch b JOIN tasks t ON t.id = b.id ORDER BY b.distance DESC`,
);

export const lastEventOfTask = statement(
  'last_event_of_task',
  ['task_id'],
  `SELECT max(seq) AS seq FROM events WHERE task_id = :task_id`,
);
