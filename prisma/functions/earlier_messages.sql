-- Returns the messages of the turns before a task in its thread, oldest first: those that its model still reads. A summary that stands in
-- turn n ends the walk there, so that a turn costs the same however long the conversation is. p_as_begun: as the
-- task read them at its beginning, before its own summaries.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION earlier_messages(p_task uuid, p_as_begun boolean) RETURNS json LANGUAGE sql STABLE AS $$
  WITH RECURSIVE turns AS (
    SELECT t.id, t.previous_task_id, t.thread_turn, t.attachments, t.trigger, t.definition_hash, CASE WHEN p_as_begun THEN NULL ELSE covered_turn(t.id) END AS covered
      FROM tasks t WHERE t.id = p_task
    UNION ALL
    SELECT t.id, t.previous_task_id, t.thread_turn, t.attachments, t.trigger, t.definition_hash, coalesce(n.covered, covered_turn(t.id))
      FROM turns n JOIN tasks t ON t.id = n.previous_task_id WHERE n.covered IS NULL OR n.thread_turn > n.covered)
  SELECT coalesce(json_agg(json_build_object('turn', e.thread_turn, 'step', m.step, 'position', m.position, 'role', m.role, 'kind', m.kind,
      'content', m.content, 'tool_calls', m.tool_calls, 'call_id', m.call_id, 'extra', CASE WHEN m.kind <> 'steer' AND (s.fallback > 0 OR e.trigger = 'imported') THEN NULL ELSE m.extra END,
      'attachments', CASE m.kind WHEN 'prompt' THEN e.attachments END,
      'provider_id', s.provider_id, 'model', coalesce(d.body ->> 'model', d.body -> 'provider' ->> 'default_model')) ORDER BY e.thread_turn, m.step, m.position), '[]')
    FROM turns e JOIN definitions d ON d.hash = e.definition_hash JOIN task_messages m ON m.task_id = e.id LEFT JOIN task_steps s ON s.task_id = e.id AND s.step = m.step
    WHERE e.id <> p_task AND NOT m.omitted
$$;
