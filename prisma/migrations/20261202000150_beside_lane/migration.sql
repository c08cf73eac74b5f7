-- Serves versions from: 20261202000091_alert_channels
ALTER TABLE "tasks" ADD COLUMN     "beside_lane" BOOLEAN NOT NULL DEFAULT false;

-- The tasks that wait for their lane, which is a thread or a workflow.
DROP INDEX "tasks_in_lane";
CREATE INDEX "tasks_in_lane" ON "tasks" (coalesce("thread_id", "workflow_id")) WHERE "status" = 'pending' AND NOT "beside_lane";
