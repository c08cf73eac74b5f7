-- Writes the texts that many runs publish, each under its workflow's next sequence number. p_texts: [{ord, task_id, workflow_id,
-- step, attempt, after, event}], at most a few hundred. Returns the number of each text by its ord. A text is left out if its attempt
-- does not own its step, if its task or step is locked, if another text of its workflow comes first, or if its workflow has an event
-- above `after`, which may be the same text, sent before: pass it to append_text, which waits and decides.
-- Locks: tasks and task_steps FOR SHARE as far as they are free, then event_sequences by workflow. Call it alone in a transaction.
CREATE OR REPLACE FUNCTION append_texts(p_texts jsonb) RETURNS TABLE (ord integer, last integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(p_texts)
          AS g (ord integer, task_id uuid, workflow_id uuid, step integer, attempt integer, after integer, event jsonb)),
      mine AS MATERIALIZED (
        SELECT g.* FROM given g JOIN tasks t ON t.id = g.task_id JOIN task_steps s ON s.task_id = g.task_id AND s.step = g.step
          WHERE t.status IN ('pending', 'running', 'waiting') AND s.attempts = g.attempt AND s.ended_at IS NULL
          FOR SHARE OF t, s SKIP LOCKED),
      chosen AS MATERIALIZED (
        SELECT DISTINCT ON (workflow_id) * FROM mine WHERE after IS NOT NULL ORDER BY workflow_id, ord),
      sequences AS (
        INSERT INTO event_sequences AS s (workflow_id, last_seq) SELECT workflow_id, after + 1 FROM chosen ORDER BY workflow_id
          ON CONFLICT (workflow_id) DO UPDATE SET last_seq = excluded.last_seq WHERE s.last_seq = excluded.last_seq - 1
          RETURNING s.workflow_id, s.last_seq),
      placed AS MATERIALIZED (
        SELECT c.ord, c.task_id, c.workflow_id, c.event, q.last_seq AS seq
          FROM chosen c JOIN sequences q ON q.workflow_id = c.workflow_id),
      written AS (
        INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
          SELECT workflow_id, seq, task_id, event ->> 'type', event -> 'data', (event ->> 'timestamp')::timestamptz FROM placed
          RETURNING 1)
    SELECT p.ord, p.seq FROM placed p WHERE (SELECT count(*) FROM written) >= 0 ORDER BY p.ord;
END $$;
