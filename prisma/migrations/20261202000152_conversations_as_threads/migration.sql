-- A conversation of /v1 is a thread. What it had becomes items that its next turn takes.
ALTER TABLE "threads" ALTER COLUMN "workflow_id" DROP NOT NULL;
ALTER TABLE "task_messages" ADD COLUMN     "omitted" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "tasks_previous_task_id_idx" ON "tasks"("previous_task_id");

INSERT INTO threads (id, owner, owner_login, metadata, created_at, updated_at)
  SELECT c.id, c.created_by, coalesce((SELECT p.login FROM principals p WHERE p.id = c.created_by), c.created_by), c.metadata, c.created_at, c.updated_at
  FROM conversations c;

-- The items of a run count once it has completed. Its answer was read from the run.
DELETE FROM conversation_items i USING tasks t WHERE t.id = i.task_id AND t.status <> 'completed';
UPDATE conversation_items i SET item = jsonb_build_object('type', 'message', 'role', 'assistant', 'status', 'completed', 'content',
    jsonb_build_array(jsonb_build_object('type', 'output_text', 'text', coalesce(t.response #>> '{}', ''), 'annotations', '[]'::jsonb, 'logprobs', '[]'::jsonb)))
  FROM tasks t WHERE t.id = i.task_id AND i.item IS NULL;
DELETE FROM conversation_items WHERE item IS NULL;

-- The files of the inputs of runs belonged to the runs.
INSERT INTO conversation_files (item_id, attachment_id)
  SELECT DISTINCT i.id, a.id FROM conversation_items i
    CROSS JOIN LATERAL jsonb_path_query(i.item, '$.content[*].file_id') AS file (id) JOIN attachments a ON a.id::text = file.id #>> '{}'
  WHERE i.task_id IS NOT NULL ON CONFLICT DO NOTHING;

ALTER TABLE "conversation_items" DROP CONSTRAINT "conversation_items_conversation_id_fkey", DROP CONSTRAINT "conversation_items_task_id_fkey";
ALTER TABLE "conversation_items" DROP COLUMN "task_id", ALTER COLUMN "item" SET NOT NULL;
ALTER TABLE "conversation_items" RENAME COLUMN "conversation_id" TO "thread_id";
ALTER INDEX "conversation_items_conversation_id_position_key" RENAME TO "conversation_items_thread_id_position_key";
ALTER TABLE "conversation_items" ADD CONSTRAINT "conversation_items_thread_id_fkey" FOREIGN KEY ("thread_id") REFERENCES "threads"("id") ON DELETE CASCADE ON UPDATE CASCADE;
DROP TABLE "conversations";

-- Returns the turn in which the newest summary of a run stands, in its thread; NULL if the run has none.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION covered_turn(p_task uuid) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT max(coalesce((m.extra ->> 'turn')::int, t.thread_turn)) FROM task_messages m JOIN tasks t ON t.id = m.task_id
    WHERE m.task_id = p_task AND m.kind = 'summary' AND NOT m.omitted
$$;

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
    WHERE e.id <> p_task AND NOT m.omitted
$$;

-- Gives each lane that nobody holds, or that an ended or deleted task holds, to the next pending task. Returns how many lanes it
-- looked at under lock.
-- Locks: each thread, then each workflow FOR NO KEY UPDATE, in the order of their ids.
CREATE OR REPLACE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lane record;
  freed integer := 0;
BEGIN
  FOR lane IN
    SELECT h.id FROM threads h LEFT JOIN workflows w ON w.id = h.workflow_id LEFT JOIN tasks t ON t.id = h.active_task_id
      WHERE (h.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (h.active_task_id IS NULL AND w.status IS DISTINCT FROM 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE coalesce(p.thread_id, p.workflow_id) = h.id AND p.status = 'pending' AND NOT p.beside_lane))
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
      -- What failed in a conversation of /v1 is not part of it.
      UPDATE threads SET active_task_id = holder, updated_at = now(), head_task_id = CASE
          WHEN head_task_id = p_task AND ended.conversation_id = id AND p_status <> 'completed' THEN ended.previous_task_id
          ELSE head_task_id END
        WHERE id = in_thread;
    END IF;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

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

-- Returns true if a turn that follows a task, directly or not, has not ended or ended at p_since or later. Its model reads the task.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION followed_since(p_task uuid, p_since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  WITH RECURSIVE later AS (
    SELECT id, completed_at FROM tasks WHERE previous_task_id = p_task
    UNION ALL SELECT t.id, t.completed_at FROM later l JOIN tasks t ON t.previous_task_id = l.id)
  SELECT EXISTS (SELECT 1 FROM later WHERE completed_at IS NULL OR completed_at >= p_since)
$$;

