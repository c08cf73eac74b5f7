-- Returns the turn in which the newest summary of a run stands, in its thread; NULL if the run has none.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION covered_turn(p_task uuid) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT max(coalesce((m.extra ->> 'turn')::int, t.thread_turn)) FROM task_messages m JOIN tasks t ON t.id = m.task_id
    WHERE m.task_id = p_task AND m.kind = 'summary' AND NOT m.omitted
$$;
