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
