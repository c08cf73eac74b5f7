-- Returns the delivery of a task that is still pending. VOLATILE, so that a statement which waited for another one to end the task
-- finds the delivery that the other one opened.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION pending_webhook(p_task uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT id FROM webhook_deliveries WHERE task_id = p_task AND status = 'pending' LIMIT 1
$$;
