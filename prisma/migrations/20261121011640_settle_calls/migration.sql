-- The id that the first request with a key was to give its new task: whoever takes the request up again uses the same.
ALTER TABLE "idempotency_keys" ADD COLUMN "reserved_id" UUID;

-- Closes what a run that ended early left open, so that its transcript is whole: text that was told becomes a partial reply,
-- and each call without a result is given one that says what is known. Returns the events that tell so.
CREATE FUNCTION close_open_work(p_task uuid) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  open_step integer;
  said text;
  told jsonb := '[]';
  call record;
BEGIN
  SELECT max(step) INTO open_step FROM task_steps WHERE task_id = p_task AND ended_at IS NULL;
  IF open_step IS NOT NULL THEN
    SELECT string_agg(data ->> 'delta', '' ORDER BY seq) INTO said FROM events
      WHERE task_id = p_task AND type = 'message_delta' AND seq > coalesce((SELECT max(seq) FROM events WHERE task_id = p_task
        AND ((type = 'message' AND data ->> 'role' = 'assistant') OR (type = 'log' AND data ->> 'event' = 'attempt_reset'))), 0);
    IF said <> '' THEN
      INSERT INTO task_messages (task_id, step, position, role, kind, content)
        VALUES (p_task, open_step, 0, 'assistant', 'partial', said) ON CONFLICT DO NOTHING;
      told := told || jsonb_build_object('type', 'message', 'timestamp', at, 'data',
        jsonb_build_object('role', 'assistant', 'content', said, 'step', open_step, 'partial', true));
    END IF;
  END IF;
  FOR call IN
    UPDATE tool_calls SET ended_at = now(), failed = true, decision = NULL,
      status = CASE WHEN status IN ('started', 'waiting_reconciliation') THEN 'done' ELSE 'denied' END
      WHERE task_id = p_task AND status NOT IN ('done', 'denied')
      RETURNING call_id, name, step, position, status,
        CASE WHEN status = 'done' THEN 'The run ended while this tool ran; what came of it is unknown.'
          ELSE 'The run ended before this tool was called.' END AS content
  LOOP
    INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
      VALUES (p_task, call.step, call.position, 'tool', CASE WHEN call.status = 'done' THEN 'result' ELSE 'denial' END,
        call.content, call.call_id) ON CONFLICT DO NOTHING;
    told := told || jsonb_build_object('type', 'message', 'timestamp', at, 'data',
      jsonb_build_object('role', 'tool', 'content', call.content, 'call_id', call.call_id, 'name', call.name));
  END LOOP;
  RETURN told;
END $$;

-- The task that is next in a workflow's lane.
CREATE FUNCTION next_in_lane(p_workflow uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT id FROM tasks WHERE workflow_id = p_workflow AND status = 'pending' AND id <> p_but
    ORDER BY (on_busy = 'interrupt') DESC, id LIMIT 1
$$;

CREATE OR REPLACE FUNCTION settle_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
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
    IF p_status <> 'completed' THEN p_events := close_open_work(p_task) || p_events; END IF;
    told_last := append_events(told_workflow, p_task, p_events);
  END IF;
  IF holder = p_task THEN
    holder := next_in_lane(told_workflow, p_task);
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
      WHERE id = told_workflow;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

-- Takes back a task that the engine never got, as if it had not been asked for. Returns the task that has its place in the lane.
DROP FUNCTION discard_task(uuid);
CREATE FUNCTION discard_task(p_task uuid) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  home uuid;
  holder uuid;
  before tasks%ROWTYPE;
BEGIN
  SELECT workflow_id INTO home FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = home FOR UPDATE;
  DELETE FROM tasks WHERE id = p_task AND status = 'pending';
  IF NOT FOUND THEN RETURN NULL; END IF;
  DELETE FROM events WHERE task_id = p_task;
  SELECT * INTO before FROM tasks WHERE workflow_id = home ORDER BY id DESC LIMIT 1;
  IF holder = p_task THEN holder := next_in_lane(home, p_task); END IF;
  UPDATE workflows SET task_count = task_count - 1, last_task_id = before.id, last_task_status = before.status,
    last_task_at = before.created_at, active_task_id = holder,
    status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN coalesce(before.status, 'active') ELSE status END
    WHERE id = home;
  RETURN holder;
END $$;

-- Gives each lane that nobody holds, or that a task holds which has ended or is gone, to the next pending task.
CREATE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lane record;
  freed integer := 0;
BEGIN
  FOR lane IN
    SELECT w.id FROM workflows w LEFT JOIN tasks t ON t.id = w.active_task_id
      WHERE (w.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (w.active_task_id IS NULL AND EXISTS (SELECT 1 FROM tasks p WHERE p.workflow_id = w.id AND p.status = 'pending'))
      ORDER BY w.id
  LOOP
    PERFORM 1 FROM workflows WHERE id = lane.id FOR UPDATE;
    UPDATE workflows w SET active_task_id = next_in_lane(w.id, coalesce(w.active_task_id, w.id)),
        status = CASE WHEN w.status = 'inactive' THEN w.status
          WHEN next_in_lane(w.id, coalesce(w.active_task_id, w.id)) IS NULL THEN coalesce(w.last_task_status, 'active') ELSE 'running' END
      WHERE w.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = w.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  RETURN freed;
END $$;
