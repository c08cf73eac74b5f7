-- Returns the turn that a turn after p_previous waits for although it does not hold the lane: one next to the lane that has not ended, in
-- the branch that ends with p_previous. NULL: the branch has none, so all of it can be read when the lane is free. VOLATILE, so that a
-- statement that has waited for the thread's lock finds what was committed in the meantime.
-- Locks: nothing. Hold the thread FOR NO KEY UPDATE, so that no turn of it begins or ends.
CREATE OR REPLACE FUNCTION waits_for(p_previous uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  WITH RECURSIVE open AS (
    SELECT id, previous_task_id, beside_lane FROM tasks WHERE id = p_previous AND status IN ('pending', 'running', 'waiting')
    UNION ALL
    SELECT t.id, t.previous_task_id, t.beside_lane FROM open o JOIN tasks t ON t.id = o.previous_task_id
      WHERE NOT o.beside_lane AND t.status IN ('pending', 'running', 'waiting'))
  SELECT id FROM open WHERE beside_lane LIMIT 1
$$;
