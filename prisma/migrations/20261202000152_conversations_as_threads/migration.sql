-- A conversation of /v1 is a thread. What it had becomes items that its next turn takes.
ALTER TABLE "threads" ALTER COLUMN "workflow_id" DROP NOT NULL;
ALTER TABLE "task_messages" ADD COLUMN     "omitted" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "tasks_previous_task_id_idx" ON "tasks"("previous_task_id");

INSERT INTO threads (id, owner, owner_login, metadata, created_at, updated_at)
  SELECT c.id, c.created_by, coalesce((SELECT p.login FROM principals p WHERE p.id = c.created_by), c.created_by), c.metadata, c.created_at, c.updated_at
  FROM conversations c;

-- The items of a run count once it has completed. Its answer was read from the run.
DELETE FROM conversation_items i USING tasks t WHERE t.id = i.task_id AND t.status <> 'completed';
UPDATE conversation_items i SET item = jsonb_build_object('type', 'message', 'role', 'assistant', 'status', 'completed', 'content',
    jsonb_build_array(jsonb_build_object('type', 'output_text', 'text', coalesce(t.response #>> '{}', ''), 'annotations', '[]'::jsonb, 'logprobs', '[]'::jsonb)))
  FROM tasks t WHERE t.id = i.task_id AND i.item IS NULL;
DELETE FROM conversation_items WHERE item IS NULL;

-- The files of the inputs of runs belonged to the runs.
INSERT INTO conversation_files (item_id, attachment_id)
  SELECT DISTINCT i.id, a.id FROM conversation_items i
    CROSS JOIN LATERAL jsonb_path_query(i.item, '$.content[*].file_id') AS file (id) JOIN attachments a ON a.id::text = file.id #>> '{}'
  WHERE i.task_id IS NOT NULL ON CONFLICT DO NOTHING;

ALTER TABLE "conversation_items" DROP CONSTRAINT "conversation_items_conversation_id_fkey", DROP CONSTRAINT "conversation_items_task_id_fkey";
ALTER TABLE "conversation_items" DROP COLUMN "task_id", ALTER COLUMN "item" SET NOT NULL;
ALTER TABLE "conversation_items" RENAME COLUMN "conversation_id" TO "thread_id";
ALTER INDEX "conversation_items_conversation_id_position_key" RENAME TO "conversation_items_thread_id_position_key";
ALTER TABLE "conversation_items" ADD CONSTRAINT "conversation_items_thread_id_fkey" FOREIGN KEY ("thread_id") REFERENCES "threads"("id") ON DELETE CASCADE ON UPDATE CASCADE;
DROP TABLE "conversations";
