-- Adds a completed turn that holds given messages to a thread, after the last one of its branch in use, and makes it the last one. Nothing
-- ran: it has no events and no usage, and its workflow does not count it. p_turn has the columns of the task; the others have their
-- defaults. The `extra` of p_messages never goes to a model. Returns the number of the turn; NULL while a turn is in progress, or if the
-- thread does not exist.
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
  UPDATE threads SET head_task_id = turn.id, accepted_tasks = accepted_tasks + 1,
      workflow_id = coalesce(workflow_id, turn.workflow_id), updated_at = greatest(updated_at, turn.created_at)
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
