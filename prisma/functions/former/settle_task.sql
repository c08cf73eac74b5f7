-- Former: only servers of the release before call it, during a rolling upgrade. Drop it in the next release.
-- Ended a task as end_task does. The texts and the webhook's message were then the database's own.
-- Locks: as end_task.
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
