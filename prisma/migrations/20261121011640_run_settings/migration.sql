-- Of a task: the budget a person gave it after it was created. Of a provider: how much its models can read.
ALTER TABLE tasks ADD COLUMN budget jsonb;
ALTER TABLE providers ADD COLUMN context_window integer;

-- A message is opened in the statement that ends a task, whoever ends it: none is lost and none is sent for a task that goes on.
CREATE FUNCTION open_webhook_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  target text;
BEGIN
  SELECT body -> 'webhooks' ->> CASE WHEN NEW.status = 'completed' THEN 'completed' ELSE 'error' END INTO target
    FROM definitions WHERE hash = NEW.definition_hash;
  IF target IS NULL THEN RETURN NULL; END IF;
  INSERT INTO webhook_deliveries (id, task_id, url, payload) VALUES (gen_random_uuid(), NEW.id, target, jsonb_build_object(
    'task_id', NEW.id, 'workflow_id', NEW.workflow_id, 'workflow_title', NEW.workflow_title, 'prompt', NEW.prompt,
    'response', NEW.response, 'status', NEW.status, 'error', NEW.error, 'error_code', NEW.error_code,
    'usage', jsonb_build_object('total_in', NEW.total_in, 'total_out', NEW.total_out, 'cost', NEW.cost,
      'cache_read', NEW.cache_read, 'cache_write', NEW.cache_write, 'premium_requests', NEW.premium_requests),
    'elapsed_seconds', round(extract(epoch FROM NEW.completed_at - NEW.started_at)::numeric, 3),
    'timestamp', to_char(NEW.completed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
  RETURN NULL;
END $$;

CREATE TRIGGER task_ended AFTER UPDATE OF status ON tasks FOR EACH ROW
  WHEN (OLD.status IN ('pending', 'running', 'waiting') AND NEW.status IN ('completed', 'failed', 'halted'))
  EXECUTE FUNCTION open_webhook_delivery();

-- Volatile, so that the statement which ends a task sees the message it opened.
CREATE FUNCTION pending_webhook(p_task uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT id FROM webhook_deliveries WHERE task_id = p_task AND status = 'pending' LIMIT 1
$$;

CREATE INDEX webhook_deliveries_pending_idx ON webhook_deliveries (id) WHERE status = 'pending';
