-- Trigger: a halted run keeps what it had said as its response: the text that was being streamed, or else its last reply.
-- Locks: nothing but the task that is updated.
CREATE OR REPLACE FUNCTION keep_partial_response() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  said text;
BEGIN
  SELECT string_agg(data ->> 'delta', '' ORDER BY seq) INTO said FROM events
    WHERE task_id = NEW.id AND type = 'message_delta' AND seq > coalesce((SELECT max(seq) FROM events WHERE task_id = NEW.id
      AND ((type = 'message' AND data ->> 'role' = 'assistant') OR (type = 'log' AND data ->> 'event' = 'attempt_reset'))), 0);
  IF coalesce(said, '') = '' THEN
    SELECT content INTO said FROM task_messages
      WHERE task_id = NEW.id AND role = 'assistant' AND kind IN ('reply', 'partial') AND content <> ''
      ORDER BY step DESC, position DESC LIMIT 1;
  END IF;
  IF coalesce(said, '') <> '' THEN NEW.response := to_jsonb(said); END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER halted_task_keeps_response BEFORE UPDATE OF status ON tasks FOR EACH ROW
  WHEN (NEW.status = 'halted' AND OLD.status <> 'halted' AND NEW.response IS NULL)
  EXECUTE FUNCTION keep_partial_response();
