-- Former: only servers of the release before call it, during a rolling upgrade. Drop it in the next release.
-- Trigger: opens the webhook's delivery when settle_task ends a task. A caller of end_task opens it.
-- Locks: nothing but the task that is updated.
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

CREATE OR REPLACE TRIGGER task_ended AFTER UPDATE OF status ON tasks FOR EACH ROW
  WHEN (OLD.status IN ('pending', 'running', 'waiting') AND NEW.status IN ('completed', 'failed', 'halted'))
  EXECUTE FUNCTION open_webhook_delivery();
