-- Serves versions from: 20261202000091_alert_channels
ALTER TABLE "tasks" ADD COLUMN     "beside_lane" BOOLEAN NOT NULL DEFAULT false;

-- The tasks that wait for their lane, which is a thread or a workflow.
DROP INDEX "tasks_in_lane";
CREATE INDEX "tasks_in_lane" ON "tasks" (coalesce("thread_id", "workflow_id")) WHERE "status" = 'pending' AND NOT "beside_lane";

-- Returns the task that is next in a lane, apart from p_but: the newest interrupting task first, then in the order in which the lane
-- accepted them. A lane is a thread, or a workflow for the tasks that belong to no thread. An id or a time does not give that order:
-- both are taken before the lane's lock. An interrupting task that a newer one follows never has its turn. While the workflow is
-- switched off, none has.
-- Locks: nothing. Hold the lane's row FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_lane uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id LEFT JOIN threads h ON h.id = t.thread_id
    WHERE coalesce(t.thread_id, t.workflow_id) = p_lane AND t.status = 'pending' AND NOT t.beside_lane AND t.id <> p_but AND w.status <> 'inactive'
      AND NOT (t.on_busy = 'interrupt' AND coalesce(t.lane_number, 0) < coalesce(h.newest_interrupt, w.newest_interrupt))
    ORDER BY (t.on_busy = 'interrupt') DESC, t.lane_number NULLS FIRST, t.id LIMIT 1
$$;

-- Ends a task, once, and gives its lane to the next pending one, unless it stands beside the lane. Returns the task that holds the lane now if it is another
-- one, the workflow, the last event's number, and the task as it ended: of the last two nothing when it had ended before, so that the
-- caller opens the webhook's delivery once, in the same statement. p_outcome_unknown and p_not_called answer calls that are left open.
-- Locks: the thread and the workflow FOR NO KEY UPDATE, so that a task being created either is visible here or sees the lane free; then
-- the task, tool_calls, event_sequences, and the task's place among those that wait for a budget.
CREATE OR REPLACE FUNCTION end_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  p_outcome_unknown text, p_not_called text,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer, OUT ended tasks)
  LANGUAGE plpgsql AS $$
DECLARE
  in_thread uuid;
  beside boolean;
  holder uuid;
BEGIN
  SELECT workflow_id, thread_id, beside_lane INTO told_workflow, in_thread, beside FROM tasks WHERE id = p_task;
  PERFORM 1 FROM threads WHERE id = in_thread FOR NO KEY UPDATE;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR NO KEY UPDATE;
  IF in_thread IS NOT NULL THEN SELECT active_task_id INTO holder FROM threads WHERE id = in_thread; END IF;
  UPDATE tasks SET status = p_status, error = p_error, error_code = p_error_code, completed_at = now(), caller_token = NULL
    WHERE id = p_task AND status IN ('pending', 'running', 'waiting') RETURNING * INTO ended;
  IF FOUND THEN
    -- They may be large, and nobody needs them.
    ended.cursor := NULL;
    ended.toolset := NULL;
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    IF p_status <> 'completed' THEN
      p_events := close_open_work(p_task, p_outcome_unknown, p_not_called) || p_events;
    END IF;
    told_last := append_events(told_workflow, p_task, p_events);
    DELETE FROM budget_waits WHERE task_id = p_task;
  END IF;
  IF beside THEN
    UPDATE threads SET updated_at = now() WHERE id = in_thread;
    RETURN;
  END IF;
  IF holder = p_task THEN
    holder := next_in_lane(coalesce(in_thread, told_workflow), p_task);
    IF in_thread IS NULL THEN
      UPDATE workflows SET active_task_id = holder,
        status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
        WHERE id = told_workflow;
    ELSE
      UPDATE threads SET active_task_id = holder, updated_at = now() WHERE id = in_thread;
    END IF;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

-- Deletes a pending task that the engine never got, as if it had not been asked for. Returns the task that holds the lane then;
-- NULL when the lane is free, when the task stands beside it, or is not pending any more.
-- Locks: the thread and the workflow FOR NO KEY UPDATE, then the task, its events and the turns that follow it.
CREATE OR REPLACE FUNCTION discard_task(p_task uuid) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  home uuid;
  in_thread uuid;
  holder uuid;
  gone tasks%ROWTYPE;
  before tasks%ROWTYPE;
BEGIN
  SELECT workflow_id, thread_id INTO home, in_thread FROM tasks WHERE id = p_task;
  PERFORM 1 FROM threads WHERE id = in_thread FOR NO KEY UPDATE;
  SELECT active_task_id INTO holder FROM workflows WHERE id = home FOR NO KEY UPDATE;
  DELETE FROM tasks WHERE id = p_task AND status = 'pending' RETURNING * INTO gone;
  IF NOT FOUND THEN RETURN NULL; END IF;
  DELETE FROM events WHERE task_id = p_task;
  SELECT * INTO before FROM tasks WHERE workflow_id = home ORDER BY id DESC LIMIT 1;
  UPDATE workflows SET task_count = task_count - 1, last_task_id = before.id, last_task_status = before.status,
    last_task_at = before.created_at WHERE id = home;
  IF in_thread IS NULL AND gone.beside_lane THEN RETURN NULL; END IF;
  IF in_thread IS NULL THEN
    -- If it was the newest that interrupts, the one before is again.
    UPDATE workflows SET newest_interrupt = coalesce(
        (SELECT max(lane_number) FROM tasks WHERE workflow_id = home AND thread_id IS NULL AND on_busy = 'interrupt' AND NOT beside_lane), 0)
      WHERE id = home AND newest_interrupt > 0;
    IF holder = p_task THEN holder := next_in_lane(home, p_task); END IF;
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NOT NULL THEN status
        WHEN before.completed_at IS NOT NULL THEN before.status ELSE 'active' END
      WHERE id = home;
  ELSE
    SELECT active_task_id INTO holder FROM threads WHERE id = in_thread;
    UPDATE threads SET newest_interrupt = coalesce(
        (SELECT max(lane_number) FROM tasks WHERE thread_id = in_thread AND on_busy = 'interrupt' AND NOT beside_lane), 0)
      WHERE id = in_thread AND newest_interrupt > 0;
    IF holder = p_task THEN holder := next_in_lane(in_thread, p_task); END IF;
    WITH RECURSIVE behind AS (
        SELECT id FROM tasks WHERE thread_id = in_thread AND previous_task_id = p_task
        UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.thread_id = in_thread AND t.previous_task_id = b.id)
      UPDATE tasks t SET thread_turn = t.thread_turn - 1,
        previous_task_id = CASE WHEN t.previous_task_id = p_task THEN gone.previous_task_id ELSE t.previous_task_id END
      FROM behind b WHERE t.id = b.id;
    UPDATE threads SET active_task_id = holder,
      head_task_id = CASE WHEN head_task_id = p_task THEN gone.previous_task_id ELSE head_task_id END WHERE id = in_thread;
    -- The thread that it began has its id. One that was made without a turn stays.
    DELETE FROM threads WHERE id = in_thread AND id = p_task AND NOT EXISTS (SELECT 1 FROM tasks WHERE thread_id = in_thread);
  END IF;
  RETURN CASE WHEN gone.beside_lane THEN NULL ELSE holder END;
END $$;

-- Gives each lane that nobody holds, or that an ended or deleted task holds, to the next pending task. Returns how many lanes it
-- looked at under lock.
-- Locks: each thread, then each workflow FOR NO KEY UPDATE, in the order of their ids.
CREATE OR REPLACE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lane record;
  freed integer := 0;
BEGIN
  FOR lane IN
    SELECT h.id FROM threads h JOIN workflows w ON w.id = h.workflow_id LEFT JOIN tasks t ON t.id = h.active_task_id
      WHERE (h.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (h.active_task_id IS NULL AND w.status <> 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE coalesce(p.thread_id, p.workflow_id) = h.id AND p.status = 'pending' AND NOT p.beside_lane))
      ORDER BY h.id
  LOOP
    PERFORM 1 FROM threads WHERE id = lane.id FOR NO KEY UPDATE;
    UPDATE threads h SET active_task_id = next_in_lane(h.id, coalesce(h.active_task_id, h.id))
      WHERE h.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = h.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  FOR lane IN
    SELECT w.id FROM workflows w LEFT JOIN tasks t ON t.id = w.active_task_id
      WHERE (w.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (w.active_task_id IS NULL AND w.status <> 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE coalesce(p.thread_id, p.workflow_id) = w.id AND p.status = 'pending' AND NOT p.beside_lane))
      ORDER BY w.id
  LOOP
    PERFORM 1 FROM workflows WHERE id = lane.id FOR NO KEY UPDATE;
    UPDATE workflows w SET active_task_id = next_in_lane(w.id, coalesce(w.active_task_id, w.id)),
        status = CASE WHEN w.status = 'inactive' THEN w.status
          WHEN next_in_lane(w.id, coalesce(w.active_task_id, w.id)) IS NULL THEN
            CASE WHEN w.last_task_status IN ('completed', 'failed', 'halted') THEN w.last_task_status ELSE 'active' END
          ELSE 'running' END
      WHERE w.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = w.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  RETURN freed;
END $$;

