-- Drops the oldest partition of a branch that is out of age: of events_lasting, when its tasks were created before p_before and have been
-- removed; of events_deltas, when they ended before it. Events of the few tasks that still need them move to the rest of the branch.
-- A partition with many of these stays until they are fewer. Returns the partition's name; null if none was dropped, also if the
-- tables were in use for a fifth of a second: writers never wait for longer. Runs as the owner of the tables, for roles that may delete tasks.
-- Locks: the branch, its rest and the partition ACCESS EXCLUSIVE, without waiting for them while others queue behind for long.
CREATE OR REPLACE FUNCTION drop_events(p_branch text, p_before timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  part record;
  needed uuid[];
  moving integer;
BEGIN
  IF NOT has_table_privilege(session_user, 'tasks', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied';
  END IF;
  FOR part IN
    SELECT c.relname::text AS name, bounds[1]::uuid AS low, bounds[2]::uuid AS high
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
        regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''(.+)''\) TO \(''(.+)''\)$') AS bounds
      WHERE i.inhparent = p_branch::regclass AND bounds[2]::uuid <= first_task_id(p_before) ORDER BY bounds[2]
  LOOP
    needed := ARRAY(SELECT id FROM tasks WHERE id >= part.low AND id < part.high
      AND (p_branch <> 'events_deltas' OR completed_at IS NULL OR completed_at >= p_before) LIMIT 5001);
    EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %I WHERE task_id = ANY ($1) LIMIT 20001) AS held', part.name)
      INTO moving USING needed;
    CONTINUE WHEN cardinality(needed) > 5000 OR moving > 20000;
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_branch, part.name);
    EXECUTE format('INSERT INTO %I SELECT * FROM %I WHERE task_id = ANY ($1)', p_branch, part.name) USING needed;
    EXECUTE format('DROP TABLE %I', part.name);
    RETURN part.name;
  END LOOP;
  RETURN NULL;
EXCEPTION WHEN lock_not_available THEN RETURN NULL;
END $$;
