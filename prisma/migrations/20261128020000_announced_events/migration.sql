-- Serves versions from: 20261122195900_installation_facts
-- Events are announced by the process that wrote them, once they are committed. A notification within the transaction held a lock of the
-- whole database until its commit was on disk, so that commits of different runs waited for one another. Readers of the events of older
-- workers look into the record every three seconds.

-- Takes the workflow's next sequence numbers and writes the events under them, all in the caller's transaction: numbers become visible
-- in the order in which they were taken. Returns the last number, 0 when there are no events.
-- Locks: the row of event_sequences, and by its foreign key FOR KEY SHARE on the workflow when it gets its first event. Call it last.
CREATE OR REPLACE FUNCTION append_events(p_workflow uuid, p_task uuid, p_events jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer := jsonb_array_length(p_events);
  last integer;
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  INSERT INTO event_sequences AS s (workflow_id, last_seq) VALUES (p_workflow, n)
    ON CONFLICT (workflow_id) DO UPDATE SET last_seq = s.last_seq + n
    RETURNING s.last_seq INTO last;
  INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
    SELECT p_workflow, last - n + ord, p_task, e ->> 'type', e -> 'data', (e ->> 'timestamp')::timestamptz
    FROM jsonb_array_elements(p_events) WITH ORDINALITY AS t (e, ord);
  RETURN last;
END $$;

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
