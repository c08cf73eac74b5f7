-- The parts of a step, one for each model that it asked: those that failed before another was asked, and the last one. Counts are totals of
-- the step until then, flags are of the part alone.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION step_parts(s task_steps)
RETURNS TABLE (last boolean, model text, provider_id text, errors int, total_in int, total_out int, cache_read int, cache_write int,
  cost float8, estimated boolean, unpriced boolean, started_at timestamptz, ended_at timestamptz) LANGUAGE sql STABLE AS $$
  SELECT p.n IS NULL, p.model, p.provider_id, p.errors - lag(p.errors, 1, 0) OVER steps, p.total_in - lag(p.total_in, 1, 0) OVER steps,
    p.total_out - lag(p.total_out, 1, 0) OVER steps, p.cache_read - lag(p.cache_read, 1, 0) OVER steps,
    p.cache_write - lag(p.cache_write, 1, 0) OVER steps, p.cost - lag(p.cost, 1, 0.0::float8) OVER steps,
    p.estimated, p.unpriced, lag(p.at, 1, s.started_at) OVER steps, p.at
  FROM (
    SELECT e.n, coalesce(r.model, '') AS model, r.provider_id, r.errors, r.total_in, r.total_out, r.cache_read, r.cache_write, r.cost,
      r.estimated, r.unpriced, r.at
    FROM jsonb_array_elements(s.passed_on) WITH ORDINALITY AS e (part, n), jsonb_to_record(e.part) AS r (model text, provider_id text,
      errors int, total_in int, total_out int, cache_read int, cache_write int, cost float8, estimated boolean, unpriced boolean,
      at timestamptz)
    UNION ALL
    SELECT NULL, s.model, s.provider_id::text, s.errors, s.total_in, s.total_out, s.cache_read, s.cache_write, s.cost,
      s.estimated, s.unpriced, s.ended_at) AS p
  WINDOW steps AS (ORDER BY p.n NULLS LAST)
$$;
