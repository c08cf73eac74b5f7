-- Serves versions from: 20261202000091_alert_channels
-- Its parameters have other names now.
DROP FUNCTION next_in_lane(uuid, uuid);

-- Returns the task that is next in a lane, apart from p_but: the newest interrupting task first, then in the order in which the lane
-- accepted them. A lane is a thread, or a workflow for the tasks that belong to no thread. An id or a time does not give that order:
-- both are taken before the lane's lock. An interrupting task that a newer one follows never has its turn. While the workflow is
-- switched off, none has.
-- Locks: nothing. Hold the lane's row FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_lane uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id LEFT JOIN threads h ON h.id = t.thread_id
    WHERE coalesce(t.thread_id, t.workflow_id) = p_lane AND t.status = 'pending' AND NOT t.beside_lane AND t.id <> p_but AND w.status <> 'inactive'
      AND NOT (t.on_busy = 'interrupt' AND coalesce(t.lane_number, 0) < coalesce(h.newest_interrupt, w.newest_interrupt))
    ORDER BY (t.on_busy = 'interrupt') DESC, t.lane_number NULLS FIRST, t.id LIMIT 1
$$;

-- Lets the messages that wait for a task enter it after a step that has ended with an answer: each becomes a message of its transcript, for
-- the next step. Returns the events of these messages, none if no message waits. VOLATILE, so that it finds those that were committed while
-- the statement waited for the task.
-- Locks: thread_messages. The caller has locked the task, so that no message is added or withdrawn meanwhile.
CREATE OR REPLACE FUNCTION take_messages(p_task uuid, p_step integer) RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  place integer := 120000;
  reported jsonb := '[]';
  message record;
BEGIN
  FOR message IN
    SELECT id, content, attachments FROM thread_messages WHERE task_id = p_task AND state = 'pending' ORDER BY number FOR NO KEY UPDATE
  LOOP
    INSERT INTO task_messages (task_id, step, position, role, kind, content, extra)
      VALUES (p_task, p_step, place, 'user', 'steer', message.content,
        jsonb_strip_nulls(jsonb_build_object('message_id', message.id, 'attachments', message.attachments)));
    UPDATE thread_messages SET state = 'steered', step = p_step + 1, position = place, caller_token = NULL, caller_key_id = NULL,
      updated_at = now() WHERE id = message.id;
    reported := reported || jsonb_build_object('type', 'message', 'timestamp', at, 'data', jsonb_build_object('role', 'user',
      'content', message.content, 'step', p_step + 1, 'kind', 'steer', 'message_id', message.id));
    place := place + 1;
  END LOOP;
  RETURN reported;
END $$;

-- Hands the messages that wait for a task which ends to the turn that follows, so that none waits for a task that has ended. The turn that
-- the lane has next takes them if it was accepted before them, or interrupts. Otherwise the first becomes a turn with the settings of the
-- task that ends, and the others wait for it. p_refusal: why no turn is begun for them; NULL: one is. p_next is the lane's next task, and
-- next_task the one after this. Returns the turn that was begun, and the events of the task that ends.
-- Locks: thread_messages, and tasks that have not begun. The caller has locked the thread, the workflow and the task.
CREATE OR REPLACE FUNCTION hand_over_messages(p_task uuid, p_next uuid, p_refusal text, OUT next_task uuid, OUT begun uuid, OUT reported jsonb)
  LANGUAGE plpgsql AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  over tasks%ROWTYPE;
  follower tasks%ROWTYPE;
  message thread_messages%ROWTYPE;
  target uuid;
BEGIN
  reported := '[]';
  next_task := p_next;
  FOR message IN SELECT * FROM thread_messages WHERE task_id = p_task AND state = 'pending' ORDER BY number FOR NO KEY UPDATE LOOP
    IF over.id IS NULL THEN
      SELECT * INTO over FROM tasks WHERE id = p_task;
      -- While the workflow is switched off, no task is next, but some may wait.
      SELECT * INTO follower FROM tasks WHERE id = p_next OR (p_next IS NULL AND status = 'pending' AND NOT beside_lane
          AND coalesce(thread_id, workflow_id) = coalesce(over.thread_id, over.workflow_id))
        ORDER BY (on_busy = 'interrupt') DESC, lane_number NULLS FIRST, id LIMIT 1;
    END IF;
    target := CASE WHEN begun IS NOT NULL THEN begun
      WHEN follower.on_busy = 'interrupt' OR (p_refusal IS NULL AND follower.lane_number < message.number) THEN follower.id END;
    IF target IS NULL AND p_refusal IS NOT NULL THEN
      UPDATE thread_messages SET state = 'refused', reason = p_refusal, caller_token = NULL, caller_key_id = NULL, updated_at = now()
        WHERE id = message.id;
      reported := reported || jsonb_build_object('type', 'log', 'timestamp', at, 'data',
        jsonb_build_object('event', 'message_refused', 'detail', left(message.content, 200), 'message_id', message.id, 'reason', p_refusal));
      CONTINUE;
    END IF;
    IF target IS NULL THEN
      begun := message.id;
      -- What waits behind the task now waits behind the new turn.
      WITH RECURSIVE behind AS (
          SELECT id FROM tasks WHERE thread_id = over.thread_id AND previous_task_id = p_task AND status = 'pending'
            AND lane_number > message.number AND NOT beside_lane
          UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.thread_id = over.thread_id AND t.previous_task_id = b.id AND t.status = 'pending')
        UPDATE tasks t SET thread_turn = t.thread_turn + 1,
          previous_task_id = CASE WHEN t.previous_task_id = p_task THEN begun ELSE t.previous_task_id END
        FROM behind b WHERE t.id = b.id;
      INSERT INTO tasks (id, workflow_id, workflow_title, owner, owner_login, agent_id, agent_name, model, definition_hash, prompt,
          attachments, trigger, service_key_id, caller_token, caller_key_id, lane_number, thread_id, previous_task_id, thread_turn)
        SELECT begun, over.workflow_id, over.workflow_title, message.owner, message.owner_login, over.agent_id, over.agent_name,
          d.body ->> 'model', over.definition_hash, message.content, message.attachments,
          CASE over.trigger WHEN 'schedule' THEN 'prompt' ELSE over.trigger END, message.service_key_id, message.caller_token,
          message.caller_key_id, message.number, over.thread_id, CASE WHEN over.thread_id IS NOT NULL THEN p_task END,
          CASE WHEN over.thread_id IS NOT NULL THEN over.thread_turn + 1 END
        FROM definitions d WHERE d.hash = over.definition_hash;
      UPDATE workflows SET task_count = task_count + 1, last_task_id = begun, last_task_status = 'pending', last_task_at = now()
        WHERE id = over.workflow_id;
      UPDATE threads SET head_task_id = begun WHERE id = over.thread_id AND head_task_id = p_task;
      next_task := begun;
      target := begun;
    END IF;
    UPDATE thread_messages SET task_id = target, updated_at = now(), state = CASE WHEN target = id THEN 'started' ELSE state END,
      caller_token = CASE WHEN target <> id THEN caller_token END, caller_key_id = CASE WHEN target <> id THEN caller_key_id END
      WHERE id = message.id;
    INSERT INTO task_attachments (task_id, position, attachment_id)
      SELECT target, CASE WHEN target = message.id THEN f.place ELSE -(message.number * 100 + f.place) END, (f.file ->> 'id')::uuid
      FROM jsonb_array_elements(message.attachments) WITH ORDINALITY AS f (file, place);
    reported := reported || jsonb_build_object('type', 'log', 'timestamp', at, 'data', jsonb_build_object('event', 'message_passed_on',
      'detail', left(message.content, 200), 'message_id', message.id, 'task_id', target));
  END LOOP;
END $$;

-- Returns the turn in which the newest summary of a run stands, in its thread; NULL if the run has none.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION covered_turn(p_task uuid) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT max(coalesce((m.extra ->> 'turn')::int, t.thread_turn)) FROM task_messages m JOIN tasks t ON t.id = m.task_id
    WHERE m.task_id = p_task AND m.kind = 'summary' AND NOT m.omitted
$$;

-- Deletes a pending task that the engine never got, as if it had not been asked for. Returns the task that holds the lane then;
-- NULL when the lane is free, when the task stands next to it, or is not pending any more. Not if a message waits for it: that was accepted.
-- Locks: the thread and the workflow FOR NO KEY UPDATE, then the task, its events and the turns that follow it.
CREATE OR REPLACE FUNCTION discard_task(p_task uuid) RETURNS uuid LANGUAGE plpgsql AS $$
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
  DELETE FROM tasks WHERE id = p_task AND status = 'pending'
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
    IF holder = p_task THEN holder := next_in_lane(in_thread, p_task); END IF;
    WITH RECURSIVE behind AS (
        SELECT id FROM tasks WHERE thread_id = in_thread AND previous_task_id = p_task
        UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.thread_id = in_thread AND t.previous_task_id = b.id)
      UPDATE tasks t SET thread_turn = t.thread_turn - 1,
        previous_task_id = CASE WHEN t.previous_task_id = p_task THEN gone.previous_task_id ELSE t.previous_task_id END
      FROM behind b WHERE t.id = b.id;
    -- Of a branch, the tip is the newest turn of the branch that it was forked from.
    WITH RECURSIVE branch AS (
        SELECT id, lane_number FROM tasks WHERE id = gone.forked_from AND thread_id = in_thread
        UNION ALL SELECT t.id, t.lane_number FROM branch b JOIN tasks t ON t.thread_id = in_thread AND t.previous_task_id = b.id)
      UPDATE threads SET active_task_id = holder, head_task_id = CASE WHEN head_task_id <> p_task THEN head_task_id
          ELSE coalesce((SELECT id FROM branch ORDER BY lane_number DESC LIMIT 1), gone.previous_task_id) END
        WHERE id = in_thread;
    -- The thread that it began has its id. One that was made without a turn stays.
    DELETE FROM threads WHERE id = in_thread AND id = p_task AND NOT EXISTS (SELECT 1 FROM tasks WHERE thread_id = in_thread);
  END IF;
  RETURN CASE WHEN gone.beside_lane THEN NULL ELSE holder END;
END $$;

-- Returns the messages of the turns before a task in its thread, oldest first: those that its model still reads. A summary that stands in
-- turn n ends the walk there, so that a turn costs the same however long the conversation is. p_as_begun: as the
-- task read them at its beginning, before its own summaries.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION earlier_messages(p_task uuid, p_as_begun boolean) RETURNS json LANGUAGE sql STABLE AS $$
  WITH RECURSIVE turns AS (
    SELECT t.id, t.previous_task_id, t.thread_turn, t.attachments, t.trigger, t.definition_hash, CASE WHEN p_as_begun THEN NULL ELSE covered_turn(t.id) END AS covered
      FROM tasks t WHERE t.id = p_task
    UNION ALL
    SELECT t.id, t.previous_task_id, t.thread_turn, t.attachments, t.trigger, t.definition_hash, coalesce(n.covered, covered_turn(t.id))
      FROM turns n JOIN tasks t ON t.id = n.previous_task_id WHERE n.covered IS NULL OR n.thread_turn > n.covered)
  SELECT coalesce(json_agg(json_build_object('turn', e.thread_turn, 'step', m.step, 'position', m.position, 'role', m.role, 'kind', m.kind,
      'content', m.content, 'tool_calls', m.tool_calls, 'call_id', m.call_id, 'extra', CASE WHEN m.kind <> 'steer' AND (s.fallback > 0 OR e.trigger = 'imported') THEN NULL ELSE m.extra END,
      'attachments', CASE m.kind WHEN 'prompt' THEN e.attachments END,
      'provider_id', s.provider_id, 'model', coalesce(d.body ->> 'model', d.body -> 'provider' ->> 'default_model')) ORDER BY e.thread_turn, m.step, m.position), '[]')
    FROM turns e JOIN definitions d ON d.hash = e.definition_hash JOIN task_messages m ON m.task_id = e.id LEFT JOIN task_steps s ON s.task_id = e.id AND s.step = m.step
    WHERE e.id <> p_task AND NOT m.omitted
$$;

-- Ends a task, once, and gives its lane to the next pending one, unless it stands next to the lane. Returns the task that holds the lane now if it is another
-- one, the workflow, the last event's number, and the task as it ended: of the last two nothing when it had ended before, so that the
-- caller opens the webhook's delivery once, in the same statement. p_outcome_unknown and p_not_called answer calls that are left open.
-- Messages that wait for the task go to the next turn. If a person has stopped it, they are refused: stop means stop.
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
  IF frees THEN holder := next_in_lane(coalesce(in_thread, told_workflow), p_task); END IF;
  IF ended.id IS NOT NULL THEN
    -- They may be large, and nobody needs them.
    ended.cursor := NULL;
    ended.toolset := NULL;
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    IF p_status <> 'completed' THEN
      p_events := close_open_work(p_task, p_outcome_unknown, p_not_called) || p_events;
    END IF;
    SELECT * INTO handed FROM hand_over_messages(p_task, holder, CASE
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
      IF (SELECT status FROM workflows WHERE id = told_workflow) <> 'inactive' AND (frees OR holder IS NULL) THEN
        holder := handed.next_task;
        frees := true;
      END IF;
    END IF;
    DELETE FROM budget_waits WHERE task_id = p_task;
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

-- Returns true if a turn that follows a task, directly or not, has not ended or ended at p_since or later. Its model reads the task.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION followed_since(p_task uuid, p_since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  WITH RECURSIVE later AS (
    SELECT id, completed_at FROM tasks WHERE previous_task_id = p_task
    UNION ALL SELECT t.id, t.completed_at FROM later l JOIN tasks t ON t.previous_task_id = l.id)
  SELECT EXISTS (SELECT 1 FROM later WHERE completed_at IS NULL OR completed_at >= p_since)
$$;

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

-- Returns the number of the turn that follows a task, which is 1 if there is no such task. VOLATILE, so that a statement that has waited
-- for the thread's lock finds the task that was committed in the meantime.
-- Locks: nothing. Hold the thread FOR NO KEY UPDATE, so that nobody else adds a turn.
CREATE OR REPLACE FUNCTION turn_after(p_task uuid) RETURNS integer LANGUAGE sql VOLATILE AS $$
  SELECT coalesce((SELECT thread_turn FROM tasks WHERE id = p_task), 0) + 1
$$;
