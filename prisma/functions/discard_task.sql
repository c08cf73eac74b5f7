-- Deletes a pending task that the engine never got, as if it had not been asked for. Returns the task that holds the lane then;
-- NULL when the lane is free, or when the task is not pending any more.
-- Locks: the workflow FOR NO KEY UPDATE, then the task and its events.
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
  -- If it was the newest that interrupts, the one before is again.
  UPDATE workflows SET newest_interrupt = coalesce(
      (SELECT max(lane_number) FROM tasks WHERE workflow_id = home AND on_busy = 'interrupt'), 0)
    WHERE id = home AND newest_interrupt > 0;
  IF holder = p_task THEN holder := next_in_lane(home, p_task); END IF;
  UPDATE workflows SET task_count = task_count - 1, last_task_id = before.id, last_task_status = before.status,
    last_task_at = before.created_at, active_task_id = holder,
    status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN coalesce(before.status, 'active') ELSE status END
    WHERE id = home;
  RETURN holder;
END $$;
