-- Serves versions from: 20261122195900_installation_facts
-- Set when the installation was restored to a time at which this task had not ended: its writes may have happened already.
ALTER TABLE "tasks" ADD COLUMN "restored_at" TIMESTAMPTZ(3);
