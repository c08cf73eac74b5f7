-- Takes a turn that never began out of its branch: the turns behind it, and the head of the thread, follow the turn before it instead; of a
-- fork, the newest turn of the branch that it was forked from; a turn that interrupts follows none that waits, since it runs before them.
-- Locks: the turns that follow it. The caller has locked the thread.
CREATE OR REPLACE FUNCTION leave_branch(p_turn tasks) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  interrupts boolean := EXISTS (SELECT 1 FROM tasks WHERE thread_id = p_turn.thread_id AND previous_task_id = p_turn.id AND on_busy = 'interrupt');
  tip uuid;
  moved integer;
BEGIN
  WITH RECURSIVE branch AS (
      SELECT id, lane_number FROM tasks WHERE id = p_turn.forked_from AND thread_id = p_turn.thread_id
      UNION ALL SELECT t.id, t.lane_number FROM branch b JOIN tasks t ON t.thread_id = p_turn.thread_id AND t.previous_task_id = b.id
        WHERE NOT interrupts OR t.status <> 'pending')
    SELECT id INTO tip FROM branch ORDER BY lane_number DESC LIMIT 1;
  tip := coalesce(tip, p_turn.previous_task_id);
  moved := turn_after(tip) - 1 - p_turn.thread_turn;
  WITH RECURSIVE behind AS (
      SELECT id FROM tasks WHERE thread_id = p_turn.thread_id AND previous_task_id = p_turn.id
      UNION ALL SELECT t.id FROM behind b JOIN tasks t ON t.thread_id = p_turn.thread_id AND t.previous_task_id = b.id)
    UPDATE tasks t SET thread_turn = t.thread_turn + moved,
      previous_task_id = CASE WHEN t.previous_task_id = p_turn.id THEN tip ELSE t.previous_task_id END
    FROM behind b WHERE t.id = b.id;
  UPDATE threads SET head_task_id = tip WHERE id = p_turn.thread_id AND head_task_id = p_turn.id;
END $$;
