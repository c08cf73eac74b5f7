-- Takes the workflow's next sequence numbers and writes the events under them, all in the caller's transaction: numbers become visible
-- in the order in which they were taken. Returns the last number, 0 when there are no events.
-- Locks: the row of event_sequences, and by its foreign key FOR KEY SHARE on the workflow when it gets its first event. Call it last.
CREATE OR REPLACE FUNCTION append_events(p_workflow uuid, p_task uuid, p_events jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer := jsonb_array_length(p_events);
  last integer;
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  INSERT INTO event_sequences AS s (workflow_id, last_seq) VALUES (p_workflow, n)
    ON CONFLICT (workflow_id) DO UPDATE SET last_seq = s.last_seq + n
    RETURNING s.last_seq INTO last;
  INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
    SELECT p_workflow, last - n + ord, p_task, e ->> 'type', e -> 'data', (e ->> 'timestamp')::timestamptz
    FROM jsonb_array_elements(p_events) WITH ORDINALITY AS t (e, ord);
  RETURN last;
END $$;
