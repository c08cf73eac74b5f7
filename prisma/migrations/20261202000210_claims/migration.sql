-- Serves versions from: 20261202000200_branches_wait
-- A try that another one has overtaken is recognised by its number.
ALTER TABLE "idempotency_keys" ADD COLUMN "claims" INTEGER NOT NULL DEFAULT 1;
CREATE INDEX "idempotency_keys_reserved_id_idx" ON "idempotency_keys"("reserved_id");

DROP FUNCTION discard_task(uuid, timestamptz);

-- Deletes a pending task that the engine never got, as if it had not been asked for. Returns the task that holds the lane then;
-- NULL when the lane is free, when the task stood next to it and another holds it, or is not pending any more. Not if a message waits for it: that was accepted.
-- Not if its request was claimed again after p_claim: that try may have been accepted with this task. The first try may be that slow, or the
-- database may read its statement that late. Not if the request has a reply either. p_claim NULL: the request has no key.
-- Locks: the thread and the workflow FOR NO KEY UPDATE, the request's key FOR SHARE, then the task, its events and the turns that follow it.
CREATE OR REPLACE FUNCTION discard_task(p_task uuid, p_claim int DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS $$
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
  -- A try that claims the request now waits, and finds that the task is gone.
  PERFORM 1 FROM idempotency_keys WHERE reserved_id = p_task FOR SHARE;
  DELETE FROM tasks WHERE id = p_task AND status = 'pending'
    AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE reserved_id = p_task AND (claims > p_claim OR reply IS NOT NULL))
    AND NOT EXISTS (SELECT 1 FROM thread_messages WHERE task_id = p_task AND id <> p_task AND state = 'pending') RETURNING * INTO gone;
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
    PERFORM leave_branch(gone);
    -- The thread may have been named by it.
    UPDATE threads SET title = NULL WHERE id = in_thread AND head_task_id IS NULL AND starts_with(btrim(gone.prompt), title);
    IF gone.beside_lane AND holder IS NOT NULL THEN RETURN NULL; END IF;
    IF holder IS NULL OR holder = p_task THEN holder := next_in_lane(in_thread, p_task); END IF;
    UPDATE threads SET active_task_id = holder WHERE id = in_thread;
    -- The thread that it began has its id. One that was made without a turn stays.
    DELETE FROM threads WHERE id = in_thread AND id = p_task AND NOT EXISTS (SELECT 1 FROM tasks WHERE thread_id = in_thread);
  END IF;
  RETURN holder;
END $$;
