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
