-- Former: only servers of the release before call it, during a rolling upgrade. Drop it in the next release.
-- Closes what a run left open, for settle_task.
-- Locks: as its namesake with three parameters.
CREATE OR REPLACE FUNCTION close_open_work(p_task uuid) RETURNS jsonb LANGUAGE plpgsql AS $$
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
