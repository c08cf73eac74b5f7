-- Serves versions from: 20261122195900_installation_facts
-- Entries of the audit that a webhook has not received yet, in the order in which they were written. Older versions add none.
CREATE TABLE "audit_queue" (
  "seq" BIGSERIAL NOT NULL,
  "entry_id" UUID NOT NULL,
  CONSTRAINT "audit_queue_pkey" PRIMARY KEY ("seq")
);
CREATE UNIQUE INDEX "audit_queue_entry_id_key" ON "audit_queue"("entry_id");
