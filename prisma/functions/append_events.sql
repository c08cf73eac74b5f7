-- Takes the workflow's next sequence numbers, writes the events under them and notifies listeners, all in the caller's
-- transaction: numbers become visible in the order in which they were taken. Events that fit travel in the notification; a listener
-- reads larger ones. With perdura.notify off (Redis is the bus) nobody is notified. Returns the last number, 0 when there are no events.
-- Locks: the row of event_sequences, and by its foreign key FOR KEY SHARE on the workflow when it gets its first event. Call it last.
CREATE OR REPLACE FUNCTION append_events(p_workflow uuid, p_task uuid, p_events jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer := jsonb_array_length(p_events);
  last integer;
  notice text;
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  INSERT INTO event_sequences AS s (workflow_id, last_seq) VALUES (p_workflow, n)
    ON CONFLICT (workflow_id) DO UPDATE SET last_seq = s.last_seq + n
    RETURNING s.last_seq INTO last;
  INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
    SELECT p_workflow, last - n + ord, p_task, e ->> 'type', e -> 'data', (e ->> 'timestamp')::timestamptz
    FROM jsonb_array_elements(p_events) WITH ORDINALITY AS t (e, ord);
  IF current_setting('perdura.notify', true) = 'off' THEN RETURN last; END IF;
  notice := jsonb_build_object('last', last, 'task_id', p_task, 'events', p_events)::text;
  IF octet_length(notice) > 7900 THEN notice := jsonb_build_object('last', last)::text; END IF;
  PERFORM pg_notify('workflow:events:' || p_workflow, notice);
  RETURN last;
END $$;
