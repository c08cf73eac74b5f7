import { statement } from '../database/statement.ts';

/**
 * Adds items after the position that their sender has read, in one step. Adds nothing if others have added items since. With a
 * task, the items belong to its run, which then continues the conversation. Locks the task, then the conversation.
 */
export const addConversationItems = statement(
  'add_conversation_items',
  ['conversation_id', 'last_position', 'task_id', 'items'],
  `WITH claimed AS (
      UPDATE conversations SET last_position = last_position + jsonb_array_length(:items::jsonb), updated_at = now(),
        last_task_id = coalesce(:task_id::uuid, last_task_id)
      WHERE id = :conversation_id AND last_position = :last_position RETURNING id, created_by),
    named AS (UPDATE tasks t SET conversation_id = c.id FROM claimed c WHERE t.id = :task_id::uuid)
    INSERT INTO conversation_items (id, conversation_id, position, task_id, item, created_by)
      SELECT (added ->> 'id')::uuid, c.id, :last_position + place, :task_id::uuid, nullif(added -> 'item', 'null'), c.created_by
      FROM claimed c, jsonb_array_elements(:items::jsonb) WITH ORDINALITY AS each (added, place)
    RETURNING id`,
);

/** Links files to an item. The result lacks files that were removed in the meantime. */
export const keepItemFiles = statement(
  'keep_item_files',
  ['item_id', 'ids'],
  `WITH held AS MATERIALIZED (SELECT id FROM attachments WHERE id = ANY (:ids::uuid[]) FOR KEY SHARE)
    INSERT INTO conversation_files (item_id, attachment_id) SELECT :item_id, id FROM held RETURNING attachment_id`,
);

export const conversationSize = statement(
  'conversation_size',
  ['conversation_id'],
  `SELECT count(*)::int AS items, coalesce(sum(octet_length(coalesce(i.item, t.response)::text)), 0)::float8 AS bytes
    FROM conversation_items i LEFT JOIN tasks t ON t.id = i.task_id WHERE i.conversation_id = :conversation_id`,
);
