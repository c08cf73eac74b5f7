-- Serves versions from: 20261201000000_initial
ALTER TABLE "alerts" ADD COLUMN     "channels" JSONB NOT NULL DEFAULT '[]';

ALTER TABLE "webhook_deliveries" ADD COLUMN     "channel" TEXT NOT NULL DEFAULT 'webhook';

-- An event has a message for each channel.
DROP INDEX "webhook_deliveries_alert_event_id_key";

CREATE INDEX "webhook_deliveries_alert_event_id_idx" ON "webhook_deliveries"("alert_event_id");
