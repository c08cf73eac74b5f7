-- Serves versions from: 20261122195900_installation_facts
-- Rules over a principal's runs. A message about one is delivered like those about runs: webhook_deliveries belong to a task or to the
-- event of an alert. Older versions see only those of tasks.
CREATE TABLE "alerts" (
  "id" UUID NOT NULL,
  "owner" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "measure" TEXT NOT NULL,
  "threshold" DOUBLE PRECISION NOT NULL,
  "window_minutes" INTEGER NOT NULL,
  "min_runs" INTEGER NOT NULL,
  "workflow_id" UUID,
  "webhook_url" TEXT,
  "enabled" BOOLEAN NOT NULL DEFAULT true,
  "muted_until" TIMESTAMPTZ(3),
  "state" TEXT NOT NULL DEFAULT 'ok',
  "state_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "last_value" DOUBLE PRECISION,
  "measured_at" TIMESTAMPTZ(3),
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "alerts_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "alerts_owner_id_idx" ON "alerts"("owner", "id" DESC);
CREATE INDEX "alerts_workflow_id_idx" ON "alerts"("workflow_id");
ALTER TABLE "alerts" ADD CONSTRAINT "alerts_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE TABLE "alert_events" (
  "id" UUID NOT NULL,
  "alert_id" UUID NOT NULL,
  "state" TEXT NOT NULL,
  "value" DOUBLE PRECISION NOT NULL,
  "threshold" DOUBLE PRECISION NOT NULL,
  "muted" BOOLEAN NOT NULL,
  "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  CONSTRAINT "alert_events_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "alert_events_alert_id_id_idx" ON "alert_events"("alert_id", "id" DESC);
ALTER TABLE "alert_events" ADD CONSTRAINT "alert_events_alert_id_fkey" FOREIGN KEY ("alert_id") REFERENCES "alerts"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "webhook_deliveries" ALTER COLUMN "task_id" DROP NOT NULL;
ALTER TABLE "webhook_deliveries" ADD COLUMN "alert_event_id" UUID;
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT webhook_deliveries_of_one CHECK (num_nonnulls(task_id, alert_event_id) = 1);
CREATE UNIQUE INDEX "webhook_deliveries_alert_event_id_key" ON "webhook_deliveries"("alert_event_id");
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_alert_event_id_fkey" FOREIGN KEY ("alert_event_id") REFERENCES "alert_events"("id") ON DELETE CASCADE ON UPDATE CASCADE;
