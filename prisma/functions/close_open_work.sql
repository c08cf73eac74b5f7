-- Closes what a run that ended early left open, so that its transcript is whole: text that was streamed becomes a partial reply, and
-- each call without a result gets one: p_outcome_unknown when it may have run, p_not_called when it did not. Every open call of a
-- restored run may have run after the restore point. Returns the events of these messages: they are the only
-- ones that SQL builds, because only this statement knows which work it closed.
-- Locks: tool_calls. The caller has locked the workflow and the task.
CREATE OR REPLACE FUNCTION close_open_work(p_task uuid, p_outcome_unknown text, p_not_called text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  open_step integer;
  said text;
  restored boolean;
  messages jsonb := '[]';
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
      messages := messages || jsonb_build_object('type', 'message', 'timestamp', at, 'data',
        jsonb_build_object('role', 'assistant', 'content', said, 'step', open_step, 'partial', true));
    END IF;
  END IF;
  SELECT restored_at IS NOT NULL OR record_behind IS NOT NULL INTO restored FROM tasks WHERE id = p_task;
  FOR call IN
    UPDATE tool_calls SET ended_at = now(), failed = true, decision = NULL, question = NULL, answers = NULL,
      status = CASE WHEN restored OR may_have_run OR status IN ('started', 'waiting_answer', 'waiting_reconciliation')
        THEN 'done' ELSE 'denied' END
      WHERE task_id = p_task AND status NOT IN ('done', 'denied')
      RETURNING call_id, name, step, position, status,
        CASE WHEN status = 'done' THEN p_outcome_unknown ELSE p_not_called END AS content
  LOOP
    INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
      VALUES (p_task, call.step, call.position, 'tool', CASE WHEN call.status = 'done' THEN 'result' ELSE 'denial' END,
        call.content, call.call_id) ON CONFLICT DO NOTHING;
    messages := messages || jsonb_build_object('type', 'message', 'timestamp', at, 'data',
      jsonb_build_object('role', 'tool', 'content', call.content, 'call_id', call.call_id, 'name', call.name));
  END LOOP;
  RETURN messages;
END $$;
