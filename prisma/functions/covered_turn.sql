-- Returns the turn up to which the newest summary of a run reaches, for its thread; NULL if it has none.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION covered_turn(p_task uuid) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT coalesce((m.extra ->> 'turn')::int, t.thread_turn) FROM task_messages m JOIN tasks t ON t.id = m.task_id
    WHERE m.task_id = p_task AND m.kind = 'summary' ORDER BY m.step DESC, m.position DESC LIMIT 1
$$;
