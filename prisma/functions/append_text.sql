-- Writes a text that a run publishes, once however often it is sent: a text of the task above p_after is this one, since an attempt
-- sends the next text after it knows the number of the one before. Returns its number; null if the attempt does not own its step.
-- Waits for the locks, which an earlier sending of the same text may have.
-- Locks: tasks and task_steps FOR SHARE, then the row of event_sequences, and what append_events locks.
CREATE OR REPLACE FUNCTION append_text(p_task uuid, p_workflow uuid, p_step integer, p_attempt integer, p_after integer, p_event jsonb)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  written integer;
BEGIN
  PERFORM 1 FROM tasks t JOIN task_steps s ON s.task_id = t.id
    WHERE t.id = p_task AND t.status IN ('pending', 'running', 'waiting') AND s.step = p_step AND s.attempts = p_attempt
      AND s.ended_at IS NULL
    FOR SHARE OF t, s;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM 1 FROM event_sequences WHERE workflow_id = p_workflow FOR NO KEY UPDATE;
  -- A statement that begins under the lock sees what its last holder wrote.
  SELECT max(seq) INTO written FROM events WHERE task_id = p_task AND seq > p_after AND type = 'message_delta';
  IF written IS NOT NULL THEN RETURN written; END IF;
  RETURN append_events(p_workflow, p_task, jsonb_build_array(p_event));
END $$;
