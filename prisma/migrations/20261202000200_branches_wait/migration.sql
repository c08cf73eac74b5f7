-- Serves versions from: 20261202000190_thread_functions
-- It finds the next turn itself.
DROP FUNCTION hand_over_messages(uuid, uuid, text);
-- It knows since when a repetition matters.
DROP FUNCTION discard_task(uuid);

-- Returns the turn that a turn after p_previous waits for although it does not hold the lane: one next to the lane that has not ended, in
-- the branch that ends with p_previous. NULL: the branch has none, so all of it can be read when the lane is free. VOLATILE, so that a
-- statement that has waited for the thread's lock finds what was committed in the meantime.
-- Locks: nothing. Hold the thread FOR NO KEY UPDATE, so that no turn of it begins or ends.
CREATE OR REPLACE FUNCTION waits_for(p_previous uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  WITH RECURSIVE open AS (
    SELECT id, previous_task_id, beside_lane FROM tasks WHERE id = p_previous AND status IN ('pending', 'running', 'waiting')
    UNION ALL
    SELECT t.id, t.previous_task_id, t.beside_lane FROM open o JOIN tasks t ON t.id = o.previous_task_id
      WHERE NOT o.beside_lane AND t.status IN ('pending', 'running', 'waiting'))
  SELECT id FROM open WHERE beside_lane LIMIT 1
$$;

-- Returns the task that is first in a lane, apart from p_but: the newest interrupting task, then in the order in which the lane accepted
-- them. A lane is a thread, or a workflow for the tasks that belong to no thread. An id or a time does not give that order: both are taken
-- before the lane's lock. An interrupting task that a newer one follows never has its turn.
-- Locks: nothing. Hold the lane's row FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION first_in_lane(p_lane uuid, p_but uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id LEFT JOIN threads h ON h.id = t.thread_id
    WHERE coalesce(t.thread_id, t.workflow_id) = p_lane AND t.status = 'pending' AND NOT t.beside_lane AND t.id <> p_but
      AND NOT (t.on_busy = 'interrupt' AND coalesce(t.lane_number, 0) < coalesce(h.newest_interrupt, w.newest_interrupt))
    ORDER BY (t.on_busy = 'interrupt') DESC, t.lane_number NULLS FIRST, t.id LIMIT 1
$$;

-- Returns the turn next to a thread's lane for which the first one in the lane waits, so that others wait behind that; NULL: none.
-- Locks: nothing. Hold the thread FOR NO KEY UPDATE, so that no turn of it begins or ends.
CREATE OR REPLACE FUNCTION lane_waits_for(p_thread uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT waits_for(previous_task_id) FROM tasks WHERE id = (SELECT first_in_lane(p_thread, p_thread))
$$;

-- Takes a turn that never began out of its branch: the turns behind it, and the head of the thread, follow the turn before it instead; of a
-- fork, the newest turn of the branch that it was forked from; a turn that interrupts follows none that waits, since it runs before them.
-- Locks: the turns that follow it. The caller has locked the thread.
CREATE OR REPLACE FUNCTION leave_branch(p_turn tasks) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  interrupts boolean := EXISTS (SELECT 1 FROM tasks WHERE thread_id = p_turn.thread_id AND previous_task_id = p_turn.id AND on_busy = 'interrupt');
  tip uuid;
  moved integer;
BEGIN
  WITH RECURSIVE branch AS (
      SELECT id, lane_number FROM tasks WHERE id = p_turn.forked_from AND thread_id = p_turn.thread_id
      UNION ALL SELECT t.id, t.lane_number FROM branch b JOIN tasks t ON t.thread_id = p_turn.thread_id AND t.previous_task_id = b.id
        WHERE NOT interrupts OR t.status <> 'pending')
    SELECT id INTO tip FROM branch ORDER BY lane_number DESC LIMIT 1;
  tip := coalesce(tip, p_turn.previous_task_id);
  moved := turn_after(tip) - 1 - p_turn.thread_turn;
  WITH RECURSIVE behind AS (
      SELECT id FROM tasks WHERE thread_id = p_turn.thread_id AND previous_task_id = p_turn.id
      UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.thread_id = p_turn.thread_id AND t.previous_task_id = b.id)
    UPDATE tasks t SET thread_turn = t.thread_turn + moved,
      previous_task_id = CASE WHEN t.previous_task_id = p_turn.id THEN tip ELSE t.previous_task_id END
    FROM behind b WHERE t.id = b.id;
  UPDATE threads SET head_task_id = tip WHERE id = p_turn.thread_id AND head_task_id = p_turn.id;
END $$;

-- Gives a turn that interrupts its place in the branch that ends with p_head: before the turns that wait for their turn, which follow it,
-- since they run after it. Returns the turn that it follows: the one in progress, p_holder, or p_head if none waits. VOLATILE, so that a
-- statement that has waited for the thread's lock finds the turns that were committed in the meantime.
-- Locks: the turns that wait. Hold the thread FOR NO KEY UPDATE, so that nobody else adds a turn, or begins one.
CREATE OR REPLACE FUNCTION put_before_waiting(p_turn uuid, p_head uuid, p_holder uuid) RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  oldest record;
BEGIN
  WITH RECURSIVE waiting AS (
      SELECT id, previous_task_id, thread_turn FROM tasks WHERE id = p_head AND status = 'pending' AND NOT beside_lane AND id IS DISTINCT FROM p_holder
      UNION ALL
      SELECT t.id, t.previous_task_id, t.thread_turn FROM waiting w JOIN tasks t ON t.id = w.previous_task_id
        WHERE t.status = 'pending' AND NOT t.beside_lane AND t.id IS DISTINCT FROM p_holder)
    SELECT id, previous_task_id INTO oldest FROM waiting ORDER BY thread_turn LIMIT 1;
  IF oldest.id IS NULL THEN RETURN p_head; END IF;
  WITH RECURSIVE behind AS (
      SELECT oldest.id
      UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.previous_task_id = b.id)
    UPDATE tasks t SET thread_turn = t.thread_turn + 1,
      previous_task_id = CASE WHEN t.id = oldest.id THEN p_turn ELSE t.previous_task_id END
    FROM behind b WHERE t.id = b.id;
  RETURN oldest.previous_task_id;
END $$;

-- Returns the task that has a lane next, apart from p_but: the first one, unless its workflow is switched off, or it waits for a turn next
-- to the lane. Nobody overtakes it.
-- Locks: nothing. Hold the lane's row FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_lane uuid, p_but uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id
    WHERE t.id = (SELECT first_in_lane(p_lane, p_but)) AND w.status <> 'inactive' AND waits_for(t.previous_task_id) IS NULL
$$;

-- Hands the messages that wait for a task which ends to the turn that follows, so that none waits for a task that has ended. The turn that
-- the lane has next takes them if it was accepted before them, or interrupts. Otherwise the first becomes a turn with the settings of the
-- task that ends, and the others wait for it. p_refusal: why no turn is begun for them; NULL: one is. Returns the turn that was begun, and
-- the events of the task that ends.
-- Locks: thread_messages, and tasks that have not begun. The caller has locked the thread, the workflow and the task.
CREATE OR REPLACE FUNCTION hand_over_messages(p_task uuid, p_refusal text, OUT begun uuid, OUT reported jsonb)
  LANGUAGE plpgsql AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  over tasks%ROWTYPE;
  follower tasks%ROWTYPE;
  message thread_messages%ROWTYPE;
  target uuid;
BEGIN
  reported := '[]';
  FOR message IN SELECT * FROM thread_messages WHERE task_id = p_task AND state = 'pending' ORDER BY number FOR NO KEY UPDATE LOOP
    IF over.id IS NULL THEN
      SELECT * INTO over FROM tasks WHERE id = p_task;
      -- Next to a task that stands next to the lane, others are in progress: only what follows it reads it.
      SELECT * INTO follower FROM tasks WHERE id = (SELECT first_in_lane(coalesce(over.thread_id, over.workflow_id), p_task))
        AND (NOT over.beside_lane OR previous_task_id = p_task);
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

-- Deletes a pending task that the engine never got, as if it had not been asked for. Returns the task that holds the lane then;
-- NULL when the lane is free, when the task stood next to it and another holds it, or is not pending any more. Not if a message waits for it: that was accepted.
-- Not if its request was repeated after p_since: the repetition may have been accepted with this task. The first try may be that slow, or the
-- database may read its statement that late. Not if it has a reply either: a try that stood still before p_since was overtaken.
-- Locks: the thread and the workflow FOR NO KEY UPDATE, then the task, its events and the turns that follow it.
CREATE OR REPLACE FUNCTION discard_task(p_task uuid, p_since timestamptz DEFAULT 'infinity') RETURNS uuid LANGUAGE plpgsql AS $$
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
    AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE reserved_id = p_task AND (created_at > p_since OR reply IS NOT NULL))
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
    IF gone.beside_lane AND holder IS NOT NULL THEN RETURN NULL; END IF;
    IF holder IS NULL OR holder = p_task THEN holder := next_in_lane(in_thread, p_task); END IF;
    UPDATE threads SET active_task_id = holder WHERE id = in_thread;
    -- The thread that it began has its id. One that was made without a turn stays.
    DELETE FROM threads WHERE id = in_thread AND id = p_task AND NOT EXISTS (SELECT 1 FROM tasks WHERE thread_id = in_thread);
  END IF;
  RETURN holder;
END $$;

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
