-- Serves versions from: 20261122195900_installation_facts
-- Events are partitioned by the time at which their task was created, which its id tells: those of a task are together, and dropped
-- when the tasks of that time are gone. Deltas are apart, because they go after a day.
--   events                      by id of the task
--     events_former             tasks from before this migration, if there are any; rows are deleted
--     events_parted             by type
--       events_deltas           a partition a day
--         events_deltas_rest    what has none
--       events_lasting          a partition a week
--         events_lasting_rest   what has none
-- Nothing is copied. Events of former tasks are read once, to see that they are what the partition says: about a minute for each
-- hundred million, during which nobody reads or writes events.
ALTER TABLE events RENAME TO events_former;
ALTER INDEX events_pkey RENAME TO events_former_pkey;
ALTER INDEX events_task_id_seq_idx RENAME TO events_former_task_id_seq_idx;
-- A foreign key would lock the workflows whenever a partition is made or dropped. The one of event_sequences refuses events of a
-- workflow that does not exist; the service deletes the events of a workflow together with it.
ALTER TABLE events_former DROP CONSTRAINT events_workflow_id_fkey;

-- The smallest id of a task that is created at that time or later: ids are UUIDv7.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION first_task_id(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT rpad(lpad(to_hex(greatest(0, floor(extract(epoch FROM p_at) * 1000))::bigint), 12, '0'), 32, '0')::uuid
$$;

CREATE TABLE events (LIKE events_former) PARTITION BY RANGE (task_id);
DO $$
DECLARE
  -- From the next day: none of its tasks exists yet.
  start uuid := CASE WHEN EXISTS (SELECT 1 FROM events_former) THEN first_task_id(date_trunc('day', now(), 'UTC') + interval '24 hours')
    ELSE '00000000-0000-0000-0000-000000000000' END;
BEGIN
  EXECUTE format('CREATE TABLE events_parted PARTITION OF events FOR VALUES FROM (%L) TO (MAXVALUE) PARTITION BY LIST (type)', start);
  CREATE TABLE events_deltas PARTITION OF events_parted FOR VALUES IN ('message_delta') PARTITION BY RANGE (task_id);
  CREATE TABLE events_deltas_rest PARTITION OF events_deltas (PRIMARY KEY (workflow_id, seq)) DEFAULT;
  CREATE INDEX ON events_deltas_rest (task_id, seq);
  CREATE TABLE events_lasting PARTITION OF events_parted DEFAULT PARTITION BY RANGE (task_id);
  CREATE TABLE events_lasting_rest PARTITION OF events_lasting (PRIMARY KEY (workflow_id, seq)) DEFAULT;
  CREATE INDEX ON events_lasting_rest (task_id, seq);
  -- Ids that are not of that time, such as those that were made while a clock was ahead.
  EXECUTE format('WITH moved AS (DELETE FROM events_former WHERE task_id >= %L RETURNING *) INSERT INTO events SELECT * FROM moved', start);
  EXECUTE format('ALTER TABLE events ATTACH PARTITION events_former FOR VALUES FROM (MINVALUE) TO (%L)', start);
END $$;

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

-- Begins a new epoch of an installation that was restored, with all its consequences in one transaction. With p_epoch and p_beat, only
-- if the record is still behind that mark, so that of several processes that notice a restore one acts. Marks the tasks that have not
-- ended, and moves every workflow's numbers ahead of all that may have been given out before. Numbers after the last one that is known
-- to be from before the restore, up to the new start, are void for readers from before; event_gaps keeps which.
-- Returns nothing if there was nothing to do.
-- Locks: the fact 'epoch', then FOR KEY SHARE all workflows, then unended tasks, then all rows of event_sequences, each in order of ids.
CREATE OR REPLACE FUNCTION note_restore(p_epoch integer, p_beat integer)
RETURNS TABLE (epoch integer, restored_at timestamptz, tasks integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  fact record;
  fresh integer;
  marked integer;
  -- A workflow carries out one run at a time and joins its deltas: 100 events a second are more than it publishes.
  jump bigint;
BEGIN
  SELECT f.updated_at AS intact, (f.value::jsonb ->> 'epoch')::integer AS epoch, (f.value::jsonb ->> 'beat')::integer AS beat
    INTO STRICT fact FROM installation_facts f WHERE f.name = 'epoch' FOR UPDATE;
  IF p_epoch IS NOT NULL AND (fact.epoch, fact.beat) >= (p_epoch, p_beat) THEN RETURN; END IF;
  fresh := greatest(fact.epoch, p_epoch) + 1;
  jump := 1000000 + 100 * greatest(0, extract(epoch FROM now() - fact.intact)::bigint);
  PERFORM 1 FROM workflows w ORDER BY w.id FOR KEY SHARE;

  PERFORM 1 FROM tasks t WHERE t.completed_at IS NULL ORDER BY t.id FOR UPDATE;
  UPDATE tasks t SET restored_at = now() WHERE t.completed_at IS NULL;
  GET DIAGNOSTICS marked = ROW_COUNT;

  INSERT INTO event_sequences (workflow_id, last_seq) SELECT w.id, 0 FROM workflows w ORDER BY w.id ON CONFLICT DO NOTHING;
  PERFORM 1 FROM event_sequences s ORDER BY s.workflow_id FOR UPDATE;
  INSERT INTO event_gaps (workflow_id, epoch, after_seq, through_seq)
    SELECT s.workflow_id, fresh,
      CASE WHEN newest.timestamp > fact.intact THEN coalesce(
        (SELECT e.seq FROM events e WHERE e.workflow_id = s.workflow_id AND e.task_id BETWEEN home.first AND home.last
          AND e.timestamp <= fact.intact ORDER BY e.seq DESC LIMIT 1), 0)
      ELSE s.last_seq END,
      -- Never out of range, however often an installation is restored.
      s.last_seq + least(jump, (2147483647 - s.last_seq) / 2)
    FROM event_sequences s
      -- Its tasks say in which partitions its events are.
      LEFT JOIN LATERAL (SELECT (SELECT t.id FROM tasks t WHERE t.workflow_id = s.workflow_id ORDER BY t.id LIMIT 1) AS first,
        (SELECT t.id FROM tasks t WHERE t.workflow_id = s.workflow_id ORDER BY t.id DESC LIMIT 1) AS last) home ON true
      LEFT JOIN LATERAL (SELECT e.timestamp FROM events e WHERE e.workflow_id = s.workflow_id
        AND e.task_id BETWEEN home.first AND home.last ORDER BY e.seq DESC LIMIT 1) newest ON true;
  UPDATE event_sequences s SET last_seq = g.through_seq FROM event_gaps g WHERE g.workflow_id = s.workflow_id AND g.epoch = fresh;

  UPDATE installation_facts f SET updated_at = now(), value = (f.value::jsonb
    || jsonb_build_object('epoch', fresh, 'beat', greatest(fact.beat, p_beat) + 1, 'restored_at', now()))::text WHERE f.name = 'epoch';
  RETURN QUERY SELECT fresh, now(), marked;
END $$;
