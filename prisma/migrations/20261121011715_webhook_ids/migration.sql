-- Ids grow with time, like those the service gives: the first 48 bits are the milliseconds since 1970.
CREATE FUNCTION uuid_of_now() RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

CREATE OR REPLACE FUNCTION open_webhook_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  target text;
BEGIN
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
