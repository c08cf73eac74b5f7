-- Serves versions from: 20261122195900_installation_facts
-- Files that people give to runs. A task refers to its own, and its row repeats what they are, without their bytes.
CREATE TABLE "attachments" (
  "id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "media_type" TEXT NOT NULL,
  "size" INTEGER NOT NULL,
  "sha256" TEXT NOT NULL,
  "content" BYTEA NOT NULL,
  "created_by" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "attachments_pkey" PRIMARY KEY ("id")
);
-- Images and PDF files are compressed already.
ALTER TABLE "attachments" ALTER COLUMN "content" SET STORAGE EXTERNAL;
CREATE INDEX "attachments_created_by_idx" ON "attachments"("created_by");

CREATE TABLE "task_attachments" (
  "task_id" UUID NOT NULL,
  "position" INTEGER NOT NULL,
  "attachment_id" UUID NOT NULL,
  CONSTRAINT "task_attachments_pkey" PRIMARY KEY ("task_id", "position"),
  CONSTRAINT "task_attachments_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "task_attachments_attachment_id_fkey" FOREIGN KEY ("attachment_id") REFERENCES "attachments"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "task_attachments_attachment_id_idx" ON "task_attachments"("attachment_id");

ALTER TABLE "tasks" ADD COLUMN "attachments" JSONB;
