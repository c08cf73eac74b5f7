-- Serves versions from: 20261122195900_installation_facts
-- What runs spent and how their calls went, by hour: reading it does not read the tasks, and deleting them does not change it.
ALTER TABLE "tasks" ADD COLUMN "usage_counted" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX tasks_uncounted ON tasks (completed_at, id) WHERE completed_at IS NOT NULL AND NOT usage_counted;
CREATE TABLE "usage_runs" (
  "hour" TIMESTAMPTZ(3) NOT NULL,
  "owner" TEXT NOT NULL,
  "workflow_id" UUID NOT NULL,
  "agent_id" UUID NOT NULL,
  "model" TEXT NOT NULL,
  "provider_id" TEXT NOT NULL,
  "trigger" TEXT NOT NULL,
  "runs" INTEGER NOT NULL,
  "completed" INTEGER NOT NULL,
  "failed" INTEGER NOT NULL,
  "halted" INTEGER NOT NULL,
  "total_in" BIGINT NOT NULL,
  "total_out" BIGINT NOT NULL,
  "cache_read" BIGINT NOT NULL,
  "cache_write" BIGINT NOT NULL,
  "premium_requests" BIGINT NOT NULL,
  "cost" DOUBLE PRECISION NOT NULL,
  CONSTRAINT "usage_runs_pkey" PRIMARY KEY ("hour", "owner", "workflow_id", "agent_id", "model", "provider_id", "trigger")
);
CREATE INDEX "usage_runs_owner_hour_idx" ON "usage_runs"("owner", "hour");
CREATE TABLE "usage_calls" (
  "hour" TIMESTAMPTZ(3) NOT NULL,
  "owner" TEXT NOT NULL,
  "kind" TEXT NOT NULL,
  "name" TEXT NOT NULL,
  "duration_class" SMALLINT NOT NULL,
  "calls" INTEGER NOT NULL,
  "failed" INTEGER NOT NULL,
  "total_in" BIGINT NOT NULL,
  "total_out" BIGINT NOT NULL,
  "cost" DOUBLE PRECISION NOT NULL,
  CONSTRAINT "usage_calls_pkey" PRIMARY KEY ("hour", "owner", "kind", "name", "duration_class")
);
CREATE INDEX "usage_calls_owner_hour_idx" ON "usage_calls"("owner", "hour");

-- Adds ended tasks to the usage tables; the caller makes sure that each is added once. Durations are counted in classes, each 10 %
-- longer than the one before: class n ends at 1.1^n ms.
-- Locks: the rows of usage_runs and usage_calls, in the order of their keys.
CREATE OR REPLACE FUNCTION add_usage(p_tasks uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage_runs AS u (hour, owner, workflow_id, agent_id, model, provider_id, trigger,
      runs, completed, failed, halted, total_in, total_out, cache_read, cache_write, premium_requests, cost)
    SELECT date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner, t.workflow_id, t.agent_id, coalesce(t.model, '') AS model,
      coalesce(d.body -> 'provider' ->> 'id', '') AS provider_id, t.trigger, count(*), count(*) FILTER (WHERE t.status = 'completed'),
      count(*) FILTER (WHERE t.status = 'failed'), count(*) FILTER (WHERE t.status = 'halted'),
      sum(t.total_in), sum(t.total_out), sum(t.cache_read), sum(t.cache_write), sum(t.premium_requests), sum(t.cost)
    FROM tasks t LEFT JOIN definitions d ON d.hash = t.definition_hash WHERE t.id = ANY (p_tasks)
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (hour, owner, workflow_id, agent_id, model, provider_id, trigger) DO UPDATE SET
      runs = u.runs + excluded.runs, completed = u.completed + excluded.completed, failed = u.failed + excluded.failed,
      halted = u.halted + excluded.halted, total_in = u.total_in + excluded.total_in, total_out = u.total_out + excluded.total_out,
      cache_read = u.cache_read + excluded.cache_read, cache_write = u.cache_write + excluded.cache_write,
      premium_requests = u.premium_requests + excluded.premium_requests, cost = u.cost + excluded.cost;
  INSERT INTO usage_calls AS u (hour, owner, kind, name, duration_class, calls, failed, total_in, total_out, cost)
    SELECT hour, owner, kind, name, CASE WHEN ms <= 1 THEN 0 ELSE least(ceil(ln(ms) / ln(1.1)), 250) END::smallint AS duration_class,
      count(*), count(*) FILTER (WHERE not_ok), sum(tokens_in), sum(tokens_out), sum(cost)
    FROM (
      SELECT date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner, 'tool' AS kind, c.name,
        coalesce(c.duration_ms, extract(epoch FROM c.ended_at - c.started_at) * 1000, 0)::numeric AS ms, coalesce(c.failed, false) AS not_ok,
        0 AS tokens_in, 0 AS tokens_out, 0.0::float8 AS cost
      FROM tool_calls c JOIN tasks t ON t.id = c.task_id
      WHERE t.id = ANY (p_tasks) AND c.status = 'done' AND c.started_at IS NOT NULL AND c.answered_by IS NULL
        AND c.step >= coalesce(t.fork_step, 0)
      UNION ALL
      SELECT date_trunc('hour', t.completed_at, 'UTC'), t.owner, 'model', coalesce(s.model, t.model, ''),
        (extract(epoch FROM coalesce(s.ended_at, t.completed_at) - s.started_at) * 1000)::numeric, s.errors > 0,
        s.total_in, s.total_out, s.cost
      FROM task_steps s JOIN tasks t ON t.id = s.task_id WHERE t.id = ANY (p_tasks) AND s.step >= coalesce(t.fork_step, 0)) AS ended
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (hour, owner, kind, name, duration_class) DO UPDATE SET
      calls = u.calls + excluded.calls, failed = u.failed + excluded.failed, total_in = u.total_in + excluded.total_in,
      total_out = u.total_out + excluded.total_out, cost = u.cost + excluded.cost;
$$;

-- A task that is deleted before it was added to the usage tables is added now: what was spent stays on record.
-- Locks: as add_usage.
CREATE OR REPLACE FUNCTION usage_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_usage(ARRAY[OLD.id]);
  RETURN OLD;
END $$;
CREATE OR REPLACE TRIGGER usage_of_deleted BEFORE DELETE ON tasks FOR EACH ROW
  WHEN (OLD.completed_at IS NOT NULL AND NOT OLD.usage_counted) EXECUTE FUNCTION usage_of_deleted();
