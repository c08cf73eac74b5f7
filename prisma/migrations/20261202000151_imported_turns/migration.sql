-- Serves versions from: 20261202000091_alert_channels
-- Adds a completed turn that holds given messages to a thread, after the last one of its branch in use, and makes it the last one. Nothing
-- ran: it has no events and no usage, and its workflow does not count it. p_turn has the columns of the task; the others have their
-- defaults. The `extra` of p_messages never goes to a model. Returns the number of the turn; NULL while a turn is in progress, or if there
-- is no such thread.
-- Locks: the thread FOR NO KEY UPDATE.
CREATE OR REPLACE FUNCTION import_turn(p_turn jsonb, p_messages jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  turn tasks%ROWTYPE := jsonb_populate_record(NULL::tasks, p_turn);
  thread threads%ROWTYPE;
  place integer;
BEGIN
  SELECT * INTO thread FROM threads WHERE id = turn.thread_id FOR NO KEY UPDATE;
  IF NOT FOUND OR thread.active_task_id IS NOT NULL THEN RETURN NULL; END IF;
  place := turn_after(thread.head_task_id);
  UPDATE threads SET head_task_id = turn.id, accepted_tasks = accepted_tasks + 1, updated_at = greatest(updated_at, turn.created_at)
    WHERE id = thread.id;
  INSERT INTO tasks (id, workflow_id, owner, owner_login, agent_id, agent_name, definition_hash, prompt, attachments, response, trigger,
      status, usage_counted, created_at, completed_at, lane_number, thread_id, previous_task_id, thread_turn)
    VALUES (turn.id, turn.workflow_id, thread.owner, thread.owner_login, turn.agent_id, turn.agent_name, turn.definition_hash,
      coalesce(turn.prompt, ''), turn.attachments, turn.response, 'imported', 'completed', true, turn.created_at, turn.created_at,
      thread.accepted_tasks + 1, thread.id, thread.head_task_id, place);
  INSERT INTO task_messages (task_id, step, position, role, kind, content, tool_calls, call_id, extra, created_at)
    SELECT turn.id, m.step, m.position, m.role, m.kind, m.content, m.tool_calls, m.call_id, m.extra, turn.created_at
    FROM jsonb_to_recordset(p_messages) AS m
      (step int, position int, role text, kind text, content text, tool_calls jsonb, call_id text, extra jsonb);
  RETURN place;
END $$;

-- Returns the messages of the turns before a task in its thread, oldest first: those that its model still reads. A summary that stands in
-- turn n ends the walk there, so that a turn costs the same however long the conversation is. p_as_begun: as the
-- task read them at its beginning, before summaries of its own.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION earlier_messages(p_task uuid, p_as_begun boolean) RETURNS json LANGUAGE sql STABLE AS $$
  WITH RECURSIVE turns AS (
    SELECT t.id, t.previous_task_id, t.thread_turn, t.attachments, t.trigger, t.definition_hash, CASE WHEN p_as_begun THEN NULL ELSE covered_turn(t.id) END AS covered
      FROM tasks t WHERE t.id = p_task
    UNION ALL
    SELECT t.id, t.previous_task_id, t.thread_turn, t.attachments, t.trigger, t.definition_hash, coalesce(n.covered, covered_turn(t.id))
      FROM turns n JOIN tasks t ON t.id = n.previous_task_id WHERE n.covered IS NULL OR n.thread_turn > n.covered)
  SELECT coalesce(json_agg(json_build_object('turn', e.thread_turn, 'step', m.step, 'position', m.position, 'role', m.role, 'kind', m.kind,
      'content', m.content, 'tool_calls', m.tool_calls, 'call_id', m.call_id, 'extra', CASE WHEN s.fallback > 0 OR e.trigger = 'imported' THEN NULL ELSE m.extra END,
      'attachments', CASE m.kind WHEN 'prompt' THEN e.attachments END,
      'provider_id', s.provider_id, 'model', coalesce(d.body ->> 'model', d.body -> 'provider' ->> 'default_model')) ORDER BY e.thread_turn, m.step, m.position), '[]')
    FROM turns e JOIN definitions d ON d.hash = e.definition_hash JOIN task_messages m ON m.task_id = e.id LEFT JOIN task_steps s ON s.task_id = e.id AND s.step = m.step
    WHERE e.id <> p_task
$$;

