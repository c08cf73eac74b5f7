-- Ends a task, once, and gives its lane to the next pending one, unless it stands next to the lane. Returns the task that holds the lane now if it is another
-- one, the workflow, the last event's number, and the task as it ended: of the last two nothing when it had ended before, so that the
-- caller opens the webhook's delivery once, in the same statement. p_outcome_unknown and p_not_called answer calls that are left open.
-- Messages that wait for the task go to the next turn. If a person has stopped it, they are refused: stop means stop.
-- A turn that has waited for this one, which stands next to the lane, gets the lane if it is free.
-- Locks: the thread and the workflow FOR NO KEY UPDATE, so that a task being created either is visible here or sees the lane free; then
-- the task, tool_calls, thread_messages, event_sequences, and the task's place among those that wait for a budget.
CREATE OR REPLACE FUNCTION end_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  p_outcome_unknown text, p_not_called text,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer, OUT ended tasks)
  LANGUAGE plpgsql AS $$
DECLARE
  in_thread uuid;
  beside_lane boolean;
  holder uuid;
  frees boolean;
  handed record;
BEGIN
  SELECT t.workflow_id, t.thread_id, t.beside_lane INTO told_workflow, in_thread, beside_lane FROM tasks t WHERE t.id = p_task;
  PERFORM 1 FROM threads WHERE id = in_thread FOR NO KEY UPDATE;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR NO KEY UPDATE;
  IF in_thread IS NOT NULL THEN SELECT active_task_id INTO holder FROM threads WHERE id = in_thread; END IF;
  frees := coalesce(holder = p_task, false);
  UPDATE tasks SET status = p_status, error = p_error, error_code = p_error_code, completed_at = now(), caller_token = NULL
    WHERE id = p_task AND status IN ('pending', 'running', 'waiting') RETURNING * INTO ended;
  IF ended.id IS NOT NULL THEN
    -- They may be large, and nobody needs them.
    ended.cursor := NULL;
    ended.toolset := NULL;
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    IF p_status <> 'completed' THEN
      p_events := close_open_work(p_task, p_outcome_unknown, p_not_called) || p_events;
    END IF;
    SELECT * INTO handed FROM hand_over_messages(p_task, CASE
      WHEN EXISTS (SELECT 1 FROM thread_messages WHERE id = p_task AND state = 'withdrawn') THEN NULL
      WHEN p_error_code = 'workflow_inactive' THEN p_error
      WHEN ended.halt_requested OR (p_status = 'halted' AND p_error_code IS NULL) THEN 'stopped'
      WHEN ended.fork_effects IN ('recorded', 'stub') THEN 'not_followed'
      END);
    told_last := append_events(told_workflow, p_task, handed.reported || p_events);
    IF handed.begun IS NOT NULL THEN
      PERFORM append_events(told_workflow, handed.begun, (
        SELECT jsonb_build_array(jsonb_build_object('type', 'log',
          'timestamp', to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'data', jsonb_build_object('event', 'prompt_received', 'detail', left(t.prompt, 200), 'task_id', t.id)))
        FROM tasks t WHERE t.id = handed.begun));
    END IF;
    -- A message that made a fork which never began is read by nobody, and the branch in use is the one before.
    IF ended.started_at IS NULL AND ended.thread_id IS NOT NULL AND ended.forked_from IS NOT NULL
        AND EXISTS (SELECT 1 FROM thread_messages WHERE id = p_task AND when_busy = 'fork') THEN
      DELETE FROM task_messages WHERE task_id = p_task AND step = ended.fork_step - 1 AND position = (
        SELECT max(position) FROM task_messages WHERE task_id = p_task AND step = ended.fork_step - 1 AND position BETWEEN 150000 AND 151000);
      PERFORM leave_branch(ended);
    END IF;
    DELETE FROM budget_waits WHERE task_id = p_task;
  END IF;
  IF frees OR holder IS NULL THEN
    holder := next_in_lane(coalesce(in_thread, told_workflow), p_task);
    frees := frees OR holder IS NOT NULL;
  END IF;
  IF beside_lane AND NOT frees THEN
    UPDATE threads SET updated_at = now() WHERE id = in_thread;
    RETURN;
  END IF;
  IF frees THEN
    IF in_thread IS NULL THEN
      UPDATE workflows SET active_task_id = holder,
        status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
        WHERE id = told_workflow;
    ELSE
      -- What failed in a conversation of /v1 is not part of it.
      UPDATE threads SET active_task_id = holder, updated_at = now(), head_task_id = CASE
          WHEN head_task_id = p_task AND ended.conversation_id = id AND p_status <> 'completed' THEN ended.previous_task_id
          ELSE head_task_id END
        WHERE id = in_thread;
    END IF;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;
