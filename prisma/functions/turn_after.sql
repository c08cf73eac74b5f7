-- Returns the number of the turn that follows a task, which is 1 if there is no such task. VOLATILE, so that a statement that has waited
-- for the thread's lock finds the task that was committed in the meantime.
-- Locks: nothing. Hold the thread FOR NO KEY UPDATE, so that nobody else adds a turn.
CREATE OR REPLACE FUNCTION turn_after(p_task uuid) RETURNS integer LANGUAGE sql VOLATILE AS $$
  SELECT coalesce((SELECT thread_turn FROM tasks WHERE id = p_task), 0) + 1
$$;
