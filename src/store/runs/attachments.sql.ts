import { statement } from '../database/statement.ts';
import { BATCH } from '../upkeep/retention.sql.ts';

/** Links files to a task. The result lacks files that were removed in the meantime. */
export const referToAttachments = statement(
  'refer_to_attachments',
  ['task_id', 'ids'],
  `WITH held AS MATERIALIZED (SELECT id FROM attachments WHERE id = ANY (:ids::uuid[]) FOR KEY SHARE)
    INSERT INTO task_attachments (task_id, position, attachment_id)
    SELECT :task_id, asked.position, asked.id FROM unnest(:ids::uuid[]) WITH ORDINALITY AS asked (id, position)
    WHERE asked.id IN (SELECT id FROM held) RETURNING attachment_id`,
);

/** Links the files of a result to its task, from the given position on. A repetition replaces them. */
export const linkResultFiles = statement(
  'link_result_files',
  ['task_id', 'ids', 'first'],
  `INSERT INTO task_attachments (task_id, position, attachment_id)
    SELECT :task_id, (:first::int + kept.position)::int, kept.id FROM unnest(:ids::uuid[]) WITH ORDINALITY AS kept (id, position)
    ON CONFLICT (task_id, position) DO UPDATE SET attachment_id = EXCLUDED.attachment_id`,
);

/** Locks the next files in the order of their ids. Leaves out a file that a prompt is referring to right now. */
export const lockAttachments = statement(
  'lock_attachments',
  ['before_id', 'after_id'],
  `SELECT id FROM attachments WHERE id < :before_id AND id > :after_id ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
);

export const removeUnusedAttachments = statement(
  'remove_unused_attachments',
  ['ids'],
  `DELETE FROM attachments a WHERE id = ANY (:ids::uuid[])
      AND NOT EXISTS (SELECT 1 FROM task_attachments t WHERE t.attachment_id = a.id)
      AND NOT EXISTS (SELECT 1 FROM conversation_files f WHERE f.attachment_id = a.id)
    RETURNING id`,
);
