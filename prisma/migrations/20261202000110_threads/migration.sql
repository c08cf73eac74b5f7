-- Serves versions from: 20261202000091_alert_channels
CREATE TABLE "threads" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "workflow_id" UUID NOT NULL,
    "title" TEXT,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "pinned" BOOLEAN NOT NULL DEFAULT false,
    "head_task_id" UUID,
    "active_task_id" UUID,
    "accepted_tasks" INTEGER NOT NULL DEFAULT 0,
    "newest_interrupt" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "threads_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "threads_owner_id_idx" ON "threads"("owner", "id" DESC);

CREATE INDEX "threads_workflow_id_idx" ON "threads"("workflow_id");

ALTER TABLE "threads" ADD CONSTRAINT "threads_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "workflows" ADD COLUMN     "remember" TEXT NOT NULL DEFAULT 'none';

ALTER TABLE "tasks" ADD COLUMN     "previous_task_id" UUID,
ADD COLUMN     "thread_id" UUID,
ADD COLUMN     "thread_turn" INTEGER;

CREATE INDEX "tasks_thread_id_id_idx" ON "tasks"("thread_id", "id" DESC);

ALTER TABLE "tasks" ADD CONSTRAINT "tasks_thread_id_fkey" FOREIGN KEY ("thread_id") REFERENCES "threads"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The tasks that wait for their lane, which is a thread or a workflow.
CREATE INDEX "tasks_in_lane" ON "tasks" (coalesce("thread_id", "workflow_id")) WHERE "status" = 'pending';
