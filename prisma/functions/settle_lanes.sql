-- Gives each lane that nobody holds, or that an ended or deleted task holds, to the next pending task. Returns how many lanes it
-- looked at under lock.
-- Locks: each thread, then each workflow FOR NO KEY UPDATE, in the order of their ids.
CREATE OR REPLACE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lane record;
  freed integer := 0;
BEGIN
  FOR lane IN
    SELECT h.id FROM threads h LEFT JOIN workflows w ON w.id = h.workflow_id LEFT JOIN tasks t ON t.id = h.active_task_id
      WHERE (h.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (h.active_task_id IS NULL AND w.status IS DISTINCT FROM 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE coalesce(p.thread_id, p.workflow_id) = h.id AND p.status = 'pending' AND NOT p.beside_lane))
      ORDER BY h.id
  LOOP
    PERFORM 1 FROM threads WHERE id = lane.id FOR NO KEY UPDATE;
    UPDATE threads h SET active_task_id = next_in_lane(h.id, coalesce(h.active_task_id, h.id))
      WHERE h.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = h.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  FOR lane IN
    SELECT w.id FROM workflows w LEFT JOIN tasks t ON t.id = w.active_task_id
      WHERE (w.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (w.active_task_id IS NULL AND w.status <> 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE coalesce(p.thread_id, p.workflow_id) = w.id AND p.status = 'pending' AND NOT p.beside_lane))
      ORDER BY w.id
  LOOP
    PERFORM 1 FROM workflows WHERE id = lane.id FOR NO KEY UPDATE;
    UPDATE workflows w SET active_task_id = next_in_lane(w.id, coalesce(w.active_task_id, w.id)),
        status = CASE WHEN w.status = 'inactive' THEN w.status
          WHEN next_in_lane(w.id, coalesce(w.active_task_id, w.id)) IS NULL THEN
            CASE WHEN w.last_task_status IN ('completed', 'failed', 'halted') THEN w.last_task_status ELSE 'active' END
          ELSE 'running' END
      WHERE w.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = w.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  RETURN freed;
END $$;
