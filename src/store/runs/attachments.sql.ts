import { statement } from '../database/statement.ts';
import { BATCH } from '../upkeep/retention.sql.ts';

/** Refers a task to files. Those that were removed meanwhile are missing in the answer. */
export const referToAttachments = statement(
  'refer_to_attachments',
  ['task_id', 'ids'],
  `WITH held AS MATERIALIZED (SELECT id FROM attachments WHERE id = ANY (:ids::uuid[]) FOR KEY SHARE)
    INSERT INTO task_attachments (task_id, position, attachment_id)
    SELECT :task_id, asked.position, asked.id FROM unnest(:ids::uuid[]) WITH ORDINALITY AS asked (id, position)
    WHERE asked.id IN (SELECT id FROM held) RETURNING attachment_id`,
);

/** The next files in the order of their ids. One that a prompt refers to at this moment is left out. */
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
