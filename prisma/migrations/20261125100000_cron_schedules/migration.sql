-- Serves versions from: 20261122195900_installation_facts
-- Schedules by cron expression in a time zone. A schedule with one keeps an interval that never comes, because servers of the release
-- before read no other recurrence.
ALTER TABLE "scheduled_agents"
  ADD COLUMN "cron" TEXT,
  ADD COLUMN "time_zone" TEXT NOT NULL DEFAULT 'UTC',
  ADD COLUMN "jitter_seconds" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "pause_after_failures" INTEGER,
  ADD COLUMN "disabled_reason" TEXT;
