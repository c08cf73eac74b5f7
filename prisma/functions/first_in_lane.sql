-- Returns the task that is first in a lane, apart from p_but: the newest interrupting task, then in the order in which the lane accepted
-- them. A lane is a thread, or a workflow for the tasks that belong to no thread. An id or a time does not give that order: both are taken
-- before the lane's lock. An interrupting task that a newer one follows never has its turn.
-- Locks: nothing. Hold the lane's row FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION first_in_lane(p_lane uuid, p_but uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id LEFT JOIN threads h ON h.id = t.thread_id
    WHERE coalesce(t.thread_id, t.workflow_id) = p_lane AND t.status = 'pending' AND NOT t.beside_lane AND t.id <> p_but
      AND NOT (t.on_busy = 'interrupt' AND coalesce(t.lane_number, 0) < coalesce(h.newest_interrupt, w.newest_interrupt))
    ORDER BY (t.on_busy = 'interrupt') DESC, t.lane_number NULLS FIRST, t.id LIMIT 1
$$;
