-- Serves versions from: 20261122195900_installation_facts
-- Who changed, ran, decided and exported what. Requests to older versions are not recorded.
CREATE TABLE "audit_entries" (
  "id" UUID NOT NULL,
  "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "principal" TEXT NOT NULL,
  "login" TEXT NOT NULL,
  "service_key_id" UUID,
  "operation" TEXT NOT NULL,
  "scope" TEXT NOT NULL,
  "path" TEXT NOT NULL,
  "resource_type" TEXT NOT NULL,
  "resource_id" TEXT,
  "made_id" TEXT,
  "status" INTEGER NOT NULL,
  "request_id" TEXT NOT NULL,
  "address" TEXT NOT NULL,
  CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "audit_entries_at_idx" ON "audit_entries"("at");
CREATE INDEX "audit_entries_principal_id_idx" ON "audit_entries"("principal", "id" DESC);
CREATE INDEX "audit_entries_resource_id_idx" ON "audit_entries"("resource_id");
CREATE INDEX "audit_entries_made_id_idx" ON "audit_entries"("made_id");

-- Trigger: the audit can only be added to. Retention, which sets perdura.audit_retention, may delete what is older than a day.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.at < now() - interval '1 day' AND current_setting('perdura.audit_retention', true) = 'on' THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'audit_is_append_only';
END $$;

CREATE OR REPLACE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON "audit_entries" FOR EACH ROW EXECUTE FUNCTION keep_audit();
CREATE OR REPLACE TRIGGER keep_whole_audit BEFORE TRUNCATE ON "audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION keep_audit();
