-- Returns the turn next to a thread's lane for which the first one in the lane waits, so that others wait behind that; NULL: none.
-- Locks: nothing. Hold the thread FOR NO KEY UPDATE, so that no turn of it begins or ends.
CREATE OR REPLACE FUNCTION lane_waits_for(p_thread uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT waits_for(previous_task_id) FROM tasks WHERE id = (SELECT first_in_lane(p_thread, p_thread))
$$;
