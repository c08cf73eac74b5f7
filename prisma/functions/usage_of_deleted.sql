-- A task that is deleted before it was added to the usage tables is added now: what was spent stays on record.
-- Locks: as add_usage.
CREATE OR REPLACE FUNCTION usage_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_usage(ARRAY[OLD.id]);
  RETURN OLD;
END $$;
CREATE OR REPLACE TRIGGER usage_of_deleted BEFORE DELETE ON tasks FOR EACH ROW
  WHEN (OLD.completed_at IS NOT NULL AND NOT OLD.usage_counted) EXECUTE FUNCTION usage_of_deleted();
