-- Gives a turn that interrupts its place in the branch that ends with p_head: before the turns that wait for their turn, which follow it,
-- since they run after it. Returns the turn that it follows: the one in progress, p_holder, or p_head if none waits. VOLATILE, so that a
-- statement that has waited for the thread's lock finds the turns that were committed in the meantime.
-- Locks: the turns that wait. Hold the thread FOR NO KEY UPDATE, so that nobody else adds a turn, or begins one.
CREATE OR REPLACE FUNCTION put_before_waiting(p_turn uuid, p_head uuid, p_holder uuid) RETURNS uuid LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  oldest record;
BEGIN
  WITH RECURSIVE waiting AS (
      SELECT id, previous_task_id, thread_turn FROM tasks WHERE id = p_head AND status = 'pending' AND NOT beside_lane AND id IS DISTINCT FROM p_holder
      UNION ALL
      SELECT t.id, t.previous_task_id, t.thread_turn FROM waiting w JOIN tasks t ON t.id = w.previous_task_id
        WHERE t.status = 'pending' AND NOT t.beside_lane AND t.id IS DISTINCT FROM p_holder)
    SELECT id, previous_task_id INTO oldest FROM waiting ORDER BY thread_turn LIMIT 1;
  IF oldest.id IS NULL THEN RETURN p_head; END IF;
  WITH RECURSIVE behind AS (
      SELECT oldest.id
      UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.previous_task_id = b.id)
    UPDATE tasks t SET thread_turn = t.thread_turn + 1,
      previous_task_id = CASE WHEN t.id = oldest.id THEN p_turn ELSE t.previous_task_id END
    FROM behind b WHERE t.id = b.id;
  RETURN oldest.previous_task_id;
END $$;
