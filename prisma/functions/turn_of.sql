-- Returns the number of a turn in its thread; NULL for a task in none. It sees turns that were written after the statement that calls it
-- began, since that may have waited for the lock of their thread.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION turn_of(p_task uuid) RETURNS integer LANGUAGE sql VOLATILE AS $$
  SELECT thread_turn FROM tasks WHERE id = p_task
$$;
