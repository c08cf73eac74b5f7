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
