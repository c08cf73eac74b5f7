-- Serves versions from: 20261201000000_initial
ALTER TABLE "task_steps" ADD COLUMN     "passed_on" JSONB;

-- The parts of a step, one for each model that it asked: those that failed before another was asked, and the last one. A flag that the
-- step already had counts again only where nothing of the part has a price.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION step_parts(s task_steps)
RETURNS TABLE (last boolean, model text, provider_id text, errors int, total_in int, total_out int, cache_read int, cache_write int,
  cost float8, estimated boolean, unpriced boolean, started_at timestamptz, ended_at timestamptz) LANGUAGE sql STABLE AS $$
  SELECT p.n IS NULL, p.model, p.provider_id, p.errors - lag(p.errors, 1, 0) OVER steps, p.total_in - lag(p.total_in, 1, 0) OVER steps,
    p.total_out - lag(p.total_out, 1, 0) OVER steps, p.cache_read - lag(p.cache_read, 1, 0) OVER steps,
    p.cache_write - lag(p.cache_write, 1, 0) OVER steps, p.cost - lag(p.cost, 1, 0.0::float8) OVER steps,
    p.estimated AND NOT lag(p.estimated, 1, false) OVER steps,
    p.unpriced AND (NOT lag(p.unpriced, 1, false) OVER steps OR p.cost = lag(p.cost, 1, 0.0::float8) OVER steps),
    lag(p.at, 1, s.started_at) OVER steps, p.at
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

-- Adds ended tasks to the usage tables; the caller makes sure that each is added once. A run that one model answered is one row. A run
-- that several models or providers answered is one row as a whole, one for each of its models and one for each of its providers
-- (counts_for). What none of its steps has used counts for the run's own model. Durations are counted in classes, each 10 %
-- longer than the one before: class n ends at 1.1^n ms. A run of an evaluation counts for the workflow that is evaluated, and one whose
-- workflow was made for it alone for none.
-- Locks: the rows of usage_runs and usage_calls, in the order of their keys.
CREATE OR REPLACE FUNCTION add_usage(p_tasks uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage_runs AS u (hour, owner, workflow_id, agent_id, model, provider_id, trigger, counts_for,
      runs, completed, failed, halted, total_in, total_out, cache_read, cache_write, premium_requests, cost, estimated, unpriced)
    WITH ended AS MATERIALIZED (
      SELECT t.id, date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner,
        coalesce(e.workflow_id, CASE WHEN w.single_use THEN '00000000-0000-0000-0000-000000000000' ELSE t.workflow_id END) AS workflow_id,
        t.agent_id, t.trigger, t.status, t.fork_step, coalesce(t.model, '') AS model,
        coalesce(d.body -> 'provider' ->> 'id', '') AS provider_id, t.total_in, t.total_out, t.cache_read, t.cache_write,
        t.premium_requests, t.cost, t.usage_estimated AS estimated, t.unpriced_models <> '{}' AS unpriced
      FROM tasks t LEFT JOIN definitions d ON d.hash = t.definition_hash LEFT JOIN workflows w ON w.id = t.workflow_id
        LEFT JOIN evaluations e ON e.id = w.evaluation_id
      WHERE t.id = ANY (p_tasks)),
    answers AS MATERIALIZED (
      SELECT s.task_id, coalesce(p.model, t.model) AS model, coalesce(p.provider_id, t.provider_id) AS provider_id,
        p.total_in, p.total_out, p.cache_read, p.cache_write, p.cost, p.estimated, p.unpriced
      FROM task_steps s JOIN ended t ON t.id = s.task_id, LATERAL step_parts(s) AS p
      WHERE s.step >= coalesce(t.fork_step, 0)
        AND (p.last AND s.finish IS NOT NULL OR p.total_in > 0 OR p.total_out > 0 OR p.cost > 0)),
    parts AS (
      SELECT task_id, model, provider_id, total_in, total_out, cache_read, cache_write, 0 AS premium_requests, cost, estimated, unpriced
      FROM answers
      UNION ALL
      SELECT t.id, t.model, t.provider_id, t.total_in - a.total_in, t.total_out - a.total_out, t.cache_read - a.cache_read,
        t.cache_write - a.cache_write, t.premium_requests, t.cost - a.cost, t.estimated AND NOT a.estimated, t.unpriced AND NOT a.unpriced
      FROM ended t, LATERAL (
        SELECT count(*) AS answers, coalesce(sum(total_in), 0) AS total_in, coalesce(sum(total_out), 0) AS total_out,
          coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write, coalesce(sum(cost), 0) AS cost,
          coalesce(bool_or(estimated), false) AS estimated, coalesce(bool_or(unpriced), false) AS unpriced
        FROM answers WHERE task_id = t.id) AS a
      WHERE a.answers = 0 OR t.premium_requests > 0 OR (t.estimated AND NOT a.estimated) OR (t.unpriced AND NOT a.unpriced)
        OR (t.total_in, t.total_out, t.cache_read, t.cache_write) <> (a.total_in, a.total_out, a.cache_read, a.cache_write)),
    compared AS (
      SELECT *, min(model) OVER run = max(model) OVER run AND min(provider_id) OVER run = max(provider_id) OVER run AS is_single
      FROM parts WINDOW run AS (PARTITION BY task_id)),
    counted AS (
      SELECT task_id, coalesce(model, '') AS model, coalesce(provider_id, '') AS provider_id,
        (ARRAY['all', 'model', 'provider', 'run'])[grouping(model, provider_id) + 1] AS counts_for, sum(total_in) AS total_in,
        sum(total_out) AS total_out, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write,
        sum(premium_requests) AS premium_requests, sum(cost) AS cost, bool_or(estimated) AS estimated, bool_or(unpriced) AS unpriced
      FROM compared GROUP BY task_id, is_single, GROUPING SETS ((model, provider_id), (model), (provider_id), ())
      HAVING is_single = (grouping(model, provider_id) = 0))
    SELECT t.hour, t.owner, t.workflow_id, t.agent_id, c.model, c.provider_id, t.trigger, c.counts_for, count(*),
      count(*) FILTER (WHERE t.status = 'completed'), count(*) FILTER (WHERE t.status = 'failed'),
      count(*) FILTER (WHERE t.status = 'halted'), sum(c.total_in), sum(c.total_out), sum(c.cache_read), sum(c.cache_write),
      sum(c.premium_requests), sum(c.cost), count(*) FILTER (WHERE c.estimated), count(*) FILTER (WHERE c.unpriced)
    FROM counted c JOIN ended t ON t.id = c.task_id
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
    ON CONFLICT (hour, owner, workflow_id, agent_id, model, provider_id, trigger, counts_for) DO UPDATE SET
      runs = u.runs + excluded.runs, completed = u.completed + excluded.completed, failed = u.failed + excluded.failed,
      halted = u.halted + excluded.halted, total_in = u.total_in + excluded.total_in, total_out = u.total_out + excluded.total_out,
      cache_read = u.cache_read + excluded.cache_read, cache_write = u.cache_write + excluded.cache_write,
      premium_requests = u.premium_requests + excluded.premium_requests, cost = u.cost + excluded.cost,
      estimated = u.estimated + excluded.estimated, unpriced = u.unpriced + excluded.unpriced;
  INSERT INTO usage_calls AS u (hour, owner, kind, name, duration_class, calls, failed, total_in, total_out, cost, unpriced)
    SELECT hour, owner, kind, name, CASE WHEN ms <= 1 THEN 0 ELSE least(ceil(ln(ms) / ln(1.1)), 250) END::smallint AS duration_class,
      count(*), count(*) FILTER (WHERE not_ok), sum(tokens_in), sum(tokens_out), sum(cost), count(*) FILTER (WHERE not_priced)
    FROM (
      SELECT date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner, 'tool' AS kind, c.name,
        coalesce(c.duration_ms, extract(epoch FROM c.ended_at - c.started_at) * 1000, 0)::numeric AS ms, coalesce(c.failed, false) AS not_ok,
        0 AS tokens_in, 0 AS tokens_out, 0.0::float8 AS cost, false AS not_priced
      FROM tool_calls c JOIN tasks t ON t.id = c.task_id
      WHERE t.id = ANY (p_tasks) AND c.status = 'done' AND c.started_at IS NOT NULL AND c.answered_by IS NULL
        AND c.step >= coalesce(t.fork_step, 0)
      UNION ALL
      SELECT date_trunc('hour', t.completed_at, 'UTC'), t.owner, 'model', coalesce(p.model, t.model, ''),
        (extract(epoch FROM coalesce(p.ended_at, t.completed_at) - p.started_at) * 1000)::numeric, p.errors > 0,
        p.total_in, p.total_out, p.cost, p.unpriced
      FROM task_steps s JOIN tasks t ON t.id = s.task_id, LATERAL step_parts(s) AS p WHERE t.id = ANY (p_tasks) AND s.step >= coalesce(t.fork_step, 0)) AS ended
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (hour, owner, kind, name, duration_class) DO UPDATE SET
      calls = u.calls + excluded.calls, failed = u.failed + excluded.failed, total_in = u.total_in + excluded.total_in,
      total_out = u.total_out + excluded.total_out, cost = u.cost + excluded.cost,
      unpriced = u.unpriced + excluded.unpriced;
$$;
