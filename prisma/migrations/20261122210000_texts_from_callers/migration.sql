-- Serves versions from: 20261122195900_installation_facts
-- The server now passes the texts that models read, and writes the webhook's message itself. settle_task, the trigger task_ended and
-- what they call stay for servers of the release before, which run beside this one during a rolling upgrade.

CREATE OR REPLACE FUNCTION close_open_work(p_task uuid, p_outcome_unknown text, p_not_called text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  open_step integer;
  said text;
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
  FOR call IN
    UPDATE tool_calls SET ended_at = now(), failed = true, decision = NULL,
      status = CASE WHEN status IN ('started', 'waiting_reconciliation') THEN 'done' ELSE 'denied' END
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

CREATE OR REPLACE FUNCTION end_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  p_outcome_unknown text, p_not_called text,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer, OUT ended tasks)
  LANGUAGE plpgsql SET perdura.opens_webhook = 'caller' AS $$
DECLARE
  holder uuid;
BEGIN
  SELECT workflow_id INTO told_workflow FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR NO KEY UPDATE;
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
  END IF;
  IF holder = p_task THEN
    holder := next_in_lane(told_workflow, p_task);
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
      WHERE id = told_workflow;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

CREATE OR REPLACE FUNCTION open_webhook_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  target text;
BEGIN
  IF current_setting('perdura.opens_webhook', true) = 'caller' THEN RETURN NULL; END IF;
  SELECT body -> 'webhooks' ->> CASE WHEN NEW.status = 'completed' THEN 'completed' ELSE 'error' END INTO target
    FROM definitions WHERE hash = NEW.definition_hash;
  IF target IS NULL THEN RETURN NULL; END IF;
  INSERT INTO webhook_deliveries (id, task_id, url, payload) VALUES (uuid_of_now(), NEW.id, target, jsonb_build_object(
    'task_id', NEW.id, 'workflow_id', NEW.workflow_id, 'workflow_title', NEW.workflow_title, 'prompt', NEW.prompt,
    'response', NEW.response, 'status', NEW.status, 'error', NEW.error, 'error_code', NEW.error_code,
    'usage', jsonb_build_object('total_in', NEW.total_in, 'total_out', NEW.total_out, 'cost', NEW.cost,
      'cache_read', NEW.cache_read, 'cache_write', NEW.cache_write, 'premium_requests', NEW.premium_requests),
    'elapsed_seconds', round(extract(epoch FROM NEW.completed_at - NEW.started_at)::numeric, 3),
    'timestamp', to_char(NEW.completed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
  RETURN NULL;
END $$;
