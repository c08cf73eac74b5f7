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
