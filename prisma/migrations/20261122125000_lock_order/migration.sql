-- Every statement locks rows in one order: workflows, tasks, task_steps and tool_calls, event_sequences; see src/store/runs.sql.ts.
-- An event's foreign key takes FOR KEY SHARE on its workflow after a writer has locked the task. FOR UPDATE conflicts with that lock,
-- so a writer of events and a settling run waited for each other. FOR NO KEY UPDATE excludes other settling runs and no foreign key.

CREATE OR REPLACE FUNCTION settle_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer) LANGUAGE plpgsql AS $$
DECLARE
  holder uuid;
BEGIN
  SELECT workflow_id INTO told_workflow FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR NO KEY UPDATE;
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

CREATE OR REPLACE FUNCTION discard_task(p_task uuid) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  home uuid;
  holder uuid;
  before tasks%ROWTYPE;
BEGIN
  SELECT workflow_id INTO home FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = home FOR NO KEY UPDATE;
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

CREATE OR REPLACE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
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
    PERFORM 1 FROM workflows WHERE id = lane.id FOR NO KEY UPDATE;
    UPDATE workflows w SET active_task_id = next_in_lane(w.id, coalesce(w.active_task_id, w.id)),
        status = CASE WHEN w.status = 'inactive' THEN w.status
          WHEN next_in_lane(w.id, coalesce(w.active_task_id, w.id)) IS NULL THEN coalesce(w.last_task_status, 'active') ELSE 'running' END
      WHERE w.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = w.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  RETURN freed;
END $$;
