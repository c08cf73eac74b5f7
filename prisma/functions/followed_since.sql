-- Returns true if a turn that follows a task, directly or not, has not ended or ended at p_since or later. Its model reads the task.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION followed_since(p_task uuid, p_since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  WITH RECURSIVE later AS (
    SELECT id, completed_at FROM tasks WHERE previous_task_id = p_task
    UNION ALL SELECT t.id, t.completed_at FROM later l JOIN tasks t ON t.previous_task_id = l.id)
  SELECT EXISTS (SELECT 1 FROM later WHERE completed_at IS NULL OR completed_at >= p_since)
$$;
