-- Serves versions from: 20261122195900_installation_facts
-- Pending tasks of a workflow that is switched off end or wait, and of several interrupting ones only the newest runs. Older versions
-- do not count interrupting tasks, so that all of theirs run.
ALTER TABLE "workflows" ADD COLUMN "on_inactive" TEXT NOT NULL DEFAULT 'halt', ADD COLUMN "newest_interrupt" INTEGER NOT NULL DEFAULT 0;

-- Returns the task that is next in a workflow's lane, apart from p_but: the newest interrupting task first, then in
-- the order in which the workflow accepted them. An id or a time does not give that order: both are taken before the lane's lock.
-- An interrupting task that a newer one follows never has its turn. While the workflow is switched off, none has.
-- Locks: nothing. Hold the workflow FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_workflow uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id
    WHERE t.workflow_id = p_workflow AND t.status = 'pending' AND t.id <> p_but AND w.status <> 'inactive'
      AND NOT (t.on_busy = 'interrupt' AND coalesce(t.lane_number, 0) < w.newest_interrupt)
    ORDER BY (t.on_busy = 'interrupt') DESC, t.lane_number NULLS FIRST, t.id LIMIT 1
$$;

-- Gives each lane that nobody holds, or that an ended or deleted task holds, to the next pending task. Returns how many lanes it
-- looked at under lock.
-- Locks: each workflow FOR NO KEY UPDATE, in the order of their ids.
CREATE OR REPLACE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lane record;
  freed integer := 0;
BEGIN
  FOR lane IN
    SELECT w.id FROM workflows w LEFT JOIN tasks t ON t.id = w.active_task_id
      WHERE (w.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (w.active_task_id IS NULL AND w.status <> 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE p.workflow_id = w.id AND p.status = 'pending'))
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
