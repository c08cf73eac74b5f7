
-- Rows that change many times in a run leave room on their page, so that an update touches no index.
ALTER TABLE "event_sequences" SET (fillfactor = 50);
ALTER TABLE "tasks" SET (fillfactor = 70);
ALTER TABLE "workflows" SET (fillfactor = 70);

-- Takes the workflow's next sequence numbers under its row lock, writes the events and tells who listens; all in the
-- caller's transaction, so numbers are told in the order in which they become visible. Events that fit travel in the
-- notification, larger ones are read by the listener. Returns the last number.
CREATE FUNCTION append_events(p_workflow uuid, p_task uuid, p_events jsonb) RETURNS integer LANGUAGE plpgsql AS $$
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
  notice := jsonb_build_object('last', last, 'task_id', p_task, 'events', p_events)::text;
  IF octet_length(notice) > 7900 THEN notice := jsonb_build_object('last', last)::text; END IF;
  PERFORM pg_notify('workflow:events:' || p_workflow, notice);
  RETURN last;
END $$;

-- Ends a task, once, and gives the workflow's lane to the next pending one. Locking the workflow first makes a task that is
-- being created either visible here or see the lane free. Returns the task that now holds the lane, if it is another one.
CREATE FUNCTION settle_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer) LANGUAGE plpgsql AS $$
DECLARE
  holder uuid;
BEGIN
  SELECT workflow_id INTO told_workflow FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR UPDATE;
  UPDATE tasks SET status = p_status, error = p_error, error_code = p_error_code, completed_at = now(), caller_token = NULL
    WHERE id = p_task AND status IN ('pending', 'running', 'waiting');
  IF FOUND THEN
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    told_last := append_events(told_workflow, p_task, p_events);
  END IF;
  IF holder = p_task THEN
    SELECT id INTO holder FROM tasks WHERE workflow_id = told_workflow AND status = 'pending' AND id <> p_task
      ORDER BY (on_busy = 'interrupt') DESC, id LIMIT 1;
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
      WHERE id = told_workflow;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

-- Takes back a task that the engine never got, as if it had not been asked for.
CREATE FUNCTION discard_task(p_task uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home uuid;
  holder uuid;
  before tasks%ROWTYPE;
BEGIN
  SELECT workflow_id INTO home FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = home FOR UPDATE;
  DELETE FROM tasks WHERE id = p_task AND status = 'pending';
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM events WHERE task_id = p_task;
  SELECT * INTO before FROM tasks WHERE workflow_id = home ORDER BY id DESC LIMIT 1;
  UPDATE workflows SET task_count = task_count - 1, last_task_id = before.id, last_task_status = before.status,
    last_task_at = before.created_at,
    active_task_id = CASE WHEN holder = p_task THEN NULL ELSE holder END,
    status = CASE WHEN holder = p_task AND status <> 'inactive' THEN coalesce(before.status, 'active') ELSE status END
    WHERE id = home;
END $$;
