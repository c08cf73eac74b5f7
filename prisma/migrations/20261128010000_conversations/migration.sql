-- Serves versions from: 20261122195900_installation_facts
-- Conversations of /v1: their items are what clients added, and the inputs and answers of runs. Older versions start no such run.
CREATE TABLE "conversations" (
  "id" UUID NOT NULL,
  "metadata" JSONB NOT NULL DEFAULT '{}',
  "last_position" INTEGER NOT NULL DEFAULT 0,
  "last_task_id" UUID,
  "created_by" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "conversations_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "conversations_created_by_idx" ON "conversations"("created_by");

CREATE TABLE "conversation_items" (
  "id" UUID NOT NULL,
  "conversation_id" UUID NOT NULL,
  "position" INTEGER NOT NULL,
  "task_id" UUID,
  "item" JSONB,
  "created_by" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "conversation_items_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "conversation_items_conversation_id_fkey" FOREIGN KEY ("conversation_id") REFERENCES "conversations"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "conversation_items_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "conversation_items_conversation_id_position_key" ON "conversation_items"("conversation_id", "position");
CREATE INDEX "conversation_items_task_id_idx" ON "conversation_items"("task_id");
CREATE INDEX "conversation_items_created_by_idx" ON "conversation_items"("created_by");

CREATE TABLE "conversation_files" (
  "item_id" UUID NOT NULL,
  "attachment_id" UUID NOT NULL,
  CONSTRAINT "conversation_files_pkey" PRIMARY KEY ("item_id", "attachment_id"),
  CONSTRAINT "conversation_files_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "conversation_items"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "conversation_files_attachment_id_fkey" FOREIGN KEY ("attachment_id") REFERENCES "attachments"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "conversation_files_attachment_id_idx" ON "conversation_files"("attachment_id");

ALTER TABLE "tasks" ADD COLUMN "conversation_id" UUID;
