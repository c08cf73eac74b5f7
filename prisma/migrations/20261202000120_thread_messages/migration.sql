-- Serves versions from: 20261202000091_alert_channels
CREATE TABLE "thread_messages" (
    "id" UUID NOT NULL,
    "thread_id" UUID,
    "workflow_id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "task_id" UUID NOT NULL,
    "state" TEXT NOT NULL,
    "when_busy" TEXT NOT NULL,
    "content" TEXT,
    "attachments" JSONB,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "number" INTEGER NOT NULL,
    "step" INTEGER,
    "position" INTEGER,
    "reason" TEXT,
    "service_key_id" UUID,
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "thread_messages_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "thread_messages_thread_id_id_idx" ON "thread_messages"("thread_id", "id" DESC);

CREATE INDEX "thread_messages_task_id_idx" ON "thread_messages"("task_id");

CREATE INDEX "thread_messages_workflow_id_idx" ON "thread_messages"("workflow_id");

ALTER TABLE "thread_messages" ADD CONSTRAINT "thread_messages_thread_id_fkey" FOREIGN KEY ("thread_id") REFERENCES "threads"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "thread_messages" ADD CONSTRAINT "thread_messages_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "thread_messages" ADD CONSTRAINT "thread_messages_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;
