-- Adds ended tasks to the usage tables; the caller makes sure that each is added once. Durations are counted in classes, each 10 %
-- longer than the one before: class n ends at 1.1^n ms. A run of an evaluation counts for the workflow that is evaluated, and one whose
-- workflow was made for it alone for none.
-- Locks: the rows of usage_runs and usage_calls, in the order of their keys.
CREATE OR REPLACE FUNCTION add_usage(p_tasks uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage_runs AS u (hour, owner, workflow_id, agent_id, model, provider_id, trigger,
      runs, completed, failed, halted, total_in, total_out, cache_read, cache_write, premium_requests, cost, estimated, unpriced)
    SELECT date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner,
      coalesce(e.workflow_id, CASE WHEN w.single_use THEN '00000000-0000-0000-0000-000000000000' ELSE t.workflow_id END) AS workflow_id,
      t.agent_id, coalesce(t.model, '') AS model,
      coalesce(d.body -> 'provider' ->> 'id', '') AS provider_id, t.trigger, count(*), count(*) FILTER (WHERE t.status = 'completed'),
      count(*) FILTER (WHERE t.status = 'failed'), count(*) FILTER (WHERE t.status = 'halted'),
      sum(t.total_in), sum(t.total_out), sum(t.cache_read), sum(t.cache_write), sum(t.premium_requests), sum(t.cost),
      count(*) FILTER (WHERE t.usage_estimated), count(*) FILTER (WHERE t.unpriced_models <> '{}')
    FROM tasks t LEFT JOIN definitions d ON d.hash = t.definition_hash LEFT JOIN workflows w ON w.id = t.workflow_id
      LEFT JOIN evaluations e ON e.id = w.evaluation_id
    WHERE t.id = ANY (p_tasks)
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (hour, owner, workflow_id, agent_id, model, provider_id, trigger) DO UPDATE SET
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
      SELECT date_trunc('hour', t.completed_at, 'UTC'), t.owner, 'model', coalesce(s.model, t.model, ''),
        (extract(epoch FROM coalesce(s.ended_at, t.completed_at) - s.started_at) * 1000)::numeric, s.errors > 0,
        s.total_in, s.total_out, s.cost, s.unpriced
      FROM task_steps s JOIN tasks t ON t.id = s.task_id WHERE t.id = ANY (p_tasks) AND s.step >= coalesce(t.fork_step, 0)) AS ended
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (hour, owner, kind, name, duration_class) DO UPDATE SET
      calls = u.calls + excluded.calls, failed = u.failed + excluded.failed, total_in = u.total_in + excluded.total_in,
      total_out = u.total_out + excluded.total_out, cost = u.cost + excluded.cost,
      unpriced = u.unpriced + excluded.unpriced;
$$;
