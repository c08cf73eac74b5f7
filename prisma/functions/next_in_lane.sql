-- Returns the task that has a lane next, apart from p_but: the first one, unless its workflow is switched off, or it waits for a turn next
-- to the lane. Nobody overtakes it.
-- Locks: nothing. Hold the lane's row FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_lane uuid, p_but uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id
    WHERE t.id = (SELECT first_in_lane(p_lane, p_but)) AND w.status <> 'inactive' AND waits_for(t.previous_task_id) IS NULL
$$;
