-- Returns the task that is next in a workflow's lane, apart from p_but: interrupting tasks first, then in
-- the order in which the workflow accepted them. An id or a time does not give that order: both are taken before the lane's lock.
-- Locks: nothing. Hold the workflow FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_workflow uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT id FROM tasks WHERE workflow_id = p_workflow AND status = 'pending' AND id <> p_but
    ORDER BY (on_busy = 'interrupt') DESC, lane_number NULLS FIRST, id LIMIT 1
$$;
