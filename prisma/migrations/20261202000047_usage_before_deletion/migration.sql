-- Serves versions from: 20261201000000_initial
-- Adds the ended tasks of a single-use workflow, or of an evaluation, to the usage tables before it is deleted: afterwards, nothing
-- shows which workflow they count for.
-- Locks: the tasks that are added, after the resource that is deleted; then as add_usage.
CREATE OR REPLACE FUNCTION usage_before_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added uuid[];
BEGIN
  WITH counted AS (
    UPDATE tasks SET usage_counted = true
      WHERE (workflow_id = OLD.id OR EXISTS (SELECT 1 FROM workflows w WHERE w.id = tasks.workflow_id AND w.evaluation_id = OLD.id))
        AND completed_at IS NOT NULL AND NOT usage_counted RETURNING id)
    SELECT array_agg(id) INTO added FROM counted;
  PERFORM add_usage(added);
  RETURN OLD;
END $$;

CREATE OR REPLACE TRIGGER usage_before_deletion BEFORE DELETE ON workflows FOR EACH ROW
  WHEN (OLD.single_use) EXECUTE FUNCTION usage_before_deletion();
CREATE OR REPLACE TRIGGER usage_before_deletion BEFORE DELETE ON evaluations FOR EACH ROW EXECUTE FUNCTION usage_before_deletion();
