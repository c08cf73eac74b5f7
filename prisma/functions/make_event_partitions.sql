-- Makes the partitions for the events of tasks that are created between two times: one a day for deltas, one a week for other events.
-- Events that have no partition yet are in the rest; they move to theirs. Returns how many partitions were made. Gives up after a fifth
-- of a second if a table is in use; the next call tries again. Runs as the owner of the tables, for roles that
-- may delete tasks.
-- Locks: the branch and then its rest ACCESS EXCLUSIVE. A writer that waited for the rest only would be refused: it has chosen the rest
-- already, which no longer takes its row.
CREATE OR REPLACE FUNCTION make_event_partitions(p_from timestamptz, p_until timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  part record;
  made integer := 0;
BEGIN
  IF NOT has_table_privilege(session_user, 'tasks', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied';
  END IF;
  FOR part IN
    SELECT branch, branch || '_rest' AS rest, name, first_task_id(at) AS low, first_task_id(at + length) AS high
      FROM (VALUES ('events_deltas', 'day', interval '24 hours'), ('events_lasting', 'week', interval '168 hours')) AS b (branch, unit, length),
        generate_series(date_trunc(unit, p_from, 'UTC'), p_until, length) AS at,
        concat(branch, '_', to_char(at AT TIME ZONE 'UTC', 'YYYYMMDD')) AS name
      WHERE to_regclass(name) IS NULL ORDER BY name
  LOOP
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part.branch);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part.name, part.rest);
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE task_id >= %L AND task_id < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
      part.rest, part.low, part.high, part.name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part.branch, part.name, part.low, part.high);
    made := made + 1;
  END LOOP;
  RETURN made;
EXCEPTION WHEN lock_not_available THEN RETURN 0;
END $$;
