-- Serves versions from: 20261201000000_initial
-- Budgets above a run. What is spent is kept for each period; what is reserved is the sum of the calls in progress.
CREATE TABLE "budgets" (
    "id" UUID NOT NULL,
    "owner" TEXT,
    "name" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "period" TEXT NOT NULL,
    "time_zone" TEXT NOT NULL,
    "limit_usd" DOUBLE PRECISION,
    "limit_tokens" DOUBLE PRECISION,
    "warn_at" DOUBLE PRECISION[],
    "on_exhausted" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "budgets_scope_subject_idx" ON "budgets"("scope", "subject");

CREATE TABLE "budget_periods" (
    "budget_id" UUID NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "cost" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "tokens" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "warned" DOUBLE PRECISION NOT NULL DEFAULT 0,

    CONSTRAINT "budget_periods_pkey" PRIMARY KEY ("budget_id","starts_at")
);
ALTER TABLE "budget_periods" ADD CONSTRAINT "budget_periods_budget_id_fkey" FOREIGN KEY ("budget_id") REFERENCES "budgets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "budget_reservations" (
    "id" UUID NOT NULL,
    "budget_id" UUID NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "holder" UUID NOT NULL,
    "cost" DOUBLE PRECISION NOT NULL,
    "tokens" DOUBLE PRECISION NOT NULL,
    "alive_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budget_reservations_pkey" PRIMARY KEY ("id","budget_id")
);
CREATE INDEX "budget_reservations_budget_id_starts_at_idx" ON "budget_reservations"("budget_id", "starts_at");
CREATE INDEX "budget_reservations_holder_idx" ON "budget_reservations"("holder");
ALTER TABLE "budget_reservations" ADD CONSTRAINT "budget_reservations_budget_id_starts_at_fkey" FOREIGN KEY ("budget_id", "starts_at") REFERENCES "budget_periods"("budget_id", "starts_at") ON DELETE CASCADE ON UPDATE CASCADE;

CREATE TABLE "budget_waits" (
    "task_id" UUID NOT NULL,
    "budget_id" UUID NOT NULL,
    "reason" TEXT NOT NULL,
    "least" DOUBLE PRECISION,
    "expected" DOUBLE PRECISION,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "raised_at" TIMESTAMPTZ(3),

    CONSTRAINT "budget_waits_pkey" PRIMARY KEY ("task_id")
);
CREATE INDEX "budget_waits_budget_id_idx" ON "budget_waits"("budget_id");

ALTER TABLE "tasks" ADD COLUMN     "service_key_id" UUID;

-- Returns the period of a budget around a moment: the day, the week from Monday, or the month, by the clock of its time zone.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION budget_period(p_period text, p_zone text, p_at timestamptz, OUT starts_at timestamptz, OUT ends_at timestamptz)
  LANGUAGE sql STABLE AS $$
  SELECT date_trunc(p_period, p_at AT TIME ZONE p_zone) AT TIME ZONE p_zone,
    (date_trunc(p_period, p_at AT TIME ZONE p_zone) + ('1 ' || p_period)::interval) AT TIME ZONE p_zone
$$;

-- Returns the budgets that apply to a call of a model: those of the installation, of the person who pays for it, and of its service key,
-- agent, workflow and schedule, as far as it has them. A run of an evaluation counts for the workflow that is evaluated.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION budgets_for(p_owner text, p_key uuid, p_agent uuid, p_workflow uuid, p_schedule uuid)
  RETURNS SETOF budgets LANGUAGE sql STABLE AS $$
  SELECT b.* FROM budgets b WHERE (b.scope, b.subject) IN (
    VALUES ('installation', ''), ('person', p_owner), ('service_key', p_key::text), ('agent', p_agent::text), ('schedule', p_schedule::text),
      ('workflow', coalesce((SELECT e.workflow_id FROM workflows w JOIN evaluations e ON e.id = w.evaluation_id WHERE w.id = p_workflow),
        p_workflow)::text))
$$;

-- Reserves a call of a model in all budgets that apply to it, or in none. p_tokens and p_cost are what the call is expected to use,
-- p_least_tokens and p_least_cost what it uses at least; p_cost is NULL if its model has no price. Returns NULL if no budget applies;
-- {"warnings": [...]} if the call is reserved, with the budgets of which a share of warn_at is used for the first time; {"blocked": {...}}
-- if it is not, with the budget that it does not fit.
--
-- A call fits if what is spent and reserved leaves room for what it is expected to use. If it is the only one, it may also take what is
-- left, provided that this is enough for the least: so at most one call at a time is reserved with less than is expected of it. Runs that
-- have waited longer for the budget count as if their calls were reserved, unless they could not continue now, or did not when asked.
--
-- p_holder asks one model at a time: what it had reserved before is released. If it is a run (p_waits) and blocked, it is noted as waiting.
-- Locks: budgets FOR KEY SHARE and budget_periods, each by id; then what only this call reads. Call it alone in a transaction.
CREATE OR REPLACE FUNCTION reserve_budgets(p_id uuid, p_holder uuid, p_waits boolean,
  p_owner text, p_key uuid, p_agent uuid, p_workflow uuid, p_schedule uuid,
  p_least_cost double precision, p_cost double precision, p_least_tokens double precision, p_tokens double precision,
  p_lease_seconds double precision) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  cap record;
  most double precision;
  used double precision;
  least_use double precision;
  expected double precision;
  amount double precision;
  reason text;
  crossed double precision;
  its_turn timestamptz;
  ahead double precision;
  older bigint;
  warnings jsonb := '[]';
  kept jsonb := '[]';
BEGIN
  PERFORM 1 FROM budgets b WHERE b.id IN (SELECT id FROM budgets_for(p_owner, p_key, p_agent, p_workflow, p_schedule))
    ORDER BY b.id FOR KEY SHARE;
  IF NOT FOUND THEN
    DELETE FROM budget_waits WHERE task_id = p_holder;
    RETURN NULL;
  END IF;
  INSERT INTO budget_periods (budget_id, starts_at, ends_at)
    SELECT b.id, p.starts_at, p.ends_at
    FROM budgets_for(p_owner, p_key, p_agent, p_workflow, p_schedule) b, budget_period(b.period, b.time_zone, now()) p
    ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  PERFORM 1 FROM budget_periods p WHERE (p.budget_id, p.starts_at) IN (
      SELECT b.id, n.starts_at FROM budgets_for(p_owner, p_key, p_agent, p_workflow, p_schedule) b, budget_period(b.period, b.time_zone, now()) n)
    ORDER BY p.budget_id, p.starts_at FOR NO KEY UPDATE;
  DELETE FROM budget_reservations WHERE holder = p_holder;
  SELECT since INTO its_turn FROM budget_waits WHERE task_id = p_holder;
  FOR cap IN
    SELECT b.*, p.starts_at, p.ends_at, p.cost, p.tokens, p.warned, r.cost AS held_cost, r.tokens AS held_tokens, r.calls
    FROM budgets_for(p_owner, p_key, p_agent, p_workflow, p_schedule) b
      CROSS JOIN LATERAL budget_period(b.period, b.time_zone, now()) n
      JOIN budget_periods p ON p.budget_id = b.id AND p.starts_at = n.starts_at
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(cost), 0) AS cost, coalesce(sum(tokens), 0) AS tokens, count(*) AS calls FROM budget_reservations
        WHERE budget_id = b.id AND starts_at = p.starts_at AND alive_until > clock_timestamp()) r
    ORDER BY b.id
  LOOP
    IF cap.limit_usd IS NULL THEN
      most := cap.limit_tokens; used := cap.tokens; least_use := p_least_tokens; expected := p_tokens; amount := cap.held_tokens;
    ELSE
      most := cap.limit_usd; used := cap.cost; least_use := p_least_cost; expected := p_cost; amount := cap.held_cost;
    END IF;
    SELECT coalesce(sum(least(w.expected, most - used)), 0), count(*) INTO ahead, older FROM budget_waits w
      WHERE w.budget_id = cap.id AND w.task_id <> p_holder AND (w.since, w.task_id) < (coalesce(its_turn, 'infinity'), p_holder)
        AND w.reason <> 'unpriced' AND used + w.least <= most AND (w.raised_at IS NULL OR w.raised_at > now() - interval '1 minute');
    reason := CASE WHEN expected IS NULL THEN 'unpriced' WHEN least_use > most THEN 'never'
      WHEN used >= most OR used + least_use > most THEN 'exhausted'
      WHEN used + amount + ahead + expected > most AND cap.calls + older > 0 THEN 'busy' END;
    IF reason IS NOT NULL THEN
      IF p_waits AND reason <> 'never' THEN
        INSERT INTO budget_waits AS w (task_id, budget_id, reason, least, expected) VALUES (p_holder, cap.id, reason, least_use, expected)
          ON CONFLICT (task_id) DO UPDATE SET budget_id = excluded.budget_id, reason = excluded.reason, least = excluded.least,
            expected = excluded.expected, raised_at = NULL;
      END IF;
      RETURN jsonb_build_object('blocked', jsonb_build_object('budget_id', cap.id, 'name', cap.name, 'reason', reason,
        'unit', CASE WHEN cap.limit_usd IS NULL THEN 'tokens' ELSE 'usd' END, 'limit', most, 'spent', used, 'reserved', amount,
        'least', least_use, 'ends_at', to_char(cap.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
    END IF;
    expected := least(expected, most - used);
    kept := kept || jsonb_build_object('budget_id', cap.id, 'starts_at', cap.starts_at,
      'cost', CASE WHEN cap.limit_usd IS NULL THEN coalesce(p_cost, 0) ELSE expected END,
      'tokens', CASE WHEN cap.limit_usd IS NULL THEN expected ELSE p_tokens END);
    SELECT max(share) INTO crossed FROM unnest(cap.warn_at) share WHERE share <= used / most AND share > cap.warned;
    IF crossed IS NOT NULL THEN
      warnings := warnings || jsonb_build_object('budget_id', cap.id, 'name', cap.name, 'share', crossed,
        'unit', CASE WHEN cap.limit_usd IS NULL THEN 'tokens' ELSE 'usd' END, 'limit', most, 'spent', used,
        'starts_at', cap.starts_at, 'ends_at', to_char(cap.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
    END IF;
  END LOOP;
  -- Only now: nobody is shown the warnings of a call that is blocked.
  UPDATE budget_periods p SET warned = w.share
    FROM jsonb_to_recordset(warnings) AS w (budget_id uuid, starts_at timestamptz, share double precision)
    WHERE p.budget_id = w.budget_id AND p.starts_at = w.starts_at;
  INSERT INTO budget_reservations (id, budget_id, starts_at, holder, cost, tokens, alive_until)
    SELECT p_id, k.budget_id, k.starts_at, p_holder, k.cost, k.tokens, clock_timestamp() + make_interval(secs => p_lease_seconds)
    FROM jsonb_to_recordset(kept) AS k (budget_id uuid, starts_at timestamptz, cost double precision, tokens double precision);
  DELETE FROM budget_waits WHERE task_id = p_holder;
  RETURN jsonb_build_object('warnings', warnings);
END $$;

-- Counts the usage of a call of a model in all budgets that apply to it, and releases what was reserved for it under p_id. A budget that
-- the call was reserved in counts it in the period of the reservation, any other one in its present period. p_cost is NULL if nobody knows
-- it, because the answer has no price: then what was reserved counts as spent. Returns true if a budget applies.
-- Call it in the statement that records the usage, and only if that is recorded: then the same usage is counted once.
-- Locks: as reserve_budgets. Call it last, after append_events.
CREATE OR REPLACE FUNCTION spend_budgets(p_id uuid, p_owner text, p_key uuid, p_agent uuid, p_workflow uuid, p_schedule uuid,
  p_cost double precision, p_tokens double precision) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  places jsonb;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM budgets) THEN RETURN false; END IF;
  PERFORM 1 FROM budgets b WHERE b.id IN (SELECT id FROM budgets_for(p_owner, p_key, p_agent, p_workflow, p_schedule))
    ORDER BY b.id FOR KEY SHARE;
  IF NOT FOUND THEN RETURN false; END IF;
  SELECT jsonb_agg(jsonb_build_object('budget_id', b.id, 'starts_at', coalesce(r.starts_at, n.starts_at),
      'ends_at', n.ends_at, 'cost', coalesce(p_cost, r.cost, 0)) ORDER BY b.id) INTO places
    FROM budgets_for(p_owner, p_key, p_agent, p_workflow, p_schedule) b
      CROSS JOIN LATERAL budget_period(b.period, b.time_zone, now()) n
      LEFT JOIN budget_reservations r ON r.id = p_id AND r.budget_id = b.id;
  INSERT INTO budget_periods (budget_id, starts_at, ends_at)
    SELECT * FROM jsonb_to_recordset(places) AS p (budget_id uuid, starts_at timestamptz, ends_at timestamptz)
    ORDER BY 1, 2 ON CONFLICT DO NOTHING;
  PERFORM 1 FROM budget_periods WHERE (budget_id, starts_at) IN (
      SELECT budget_id, starts_at FROM jsonb_to_recordset(places) AS p (budget_id uuid, starts_at timestamptz))
    ORDER BY budget_id, starts_at FOR NO KEY UPDATE;
  UPDATE budget_periods u SET cost = u.cost + p.cost, tokens = u.tokens + p_tokens
    FROM jsonb_to_recordset(places) AS p (budget_id uuid, starts_at timestamptz, cost double precision)
    WHERE u.budget_id = p.budget_id AND u.starts_at = p.starts_at;
  DELETE FROM budget_reservations WHERE id = p_id;
  RETURN true;
END $$;

-- Ends a task, once, and gives the workflow's lane to the next pending one. Returns the task that holds the lane now if it is another
-- one, the workflow, the last event's number, and the task as it ended: of the last two nothing when it had ended before, so that the
-- caller opens the webhook's delivery once, in the same statement. p_outcome_unknown and p_not_called answer calls that are left open.
-- Locks: the workflow FOR NO KEY UPDATE, so that a task being created either is visible here or sees the lane free; then the task,
-- tool_calls, event_sequences, and the task's place among those that wait for a budget.
CREATE OR REPLACE FUNCTION end_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  p_outcome_unknown text, p_not_called text,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer, OUT ended tasks)
  LANGUAGE plpgsql AS $$
DECLARE
  holder uuid;
BEGIN
  SELECT workflow_id INTO told_workflow FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR NO KEY UPDATE;
  UPDATE tasks SET status = p_status, error = p_error, error_code = p_error_code, completed_at = now(), caller_token = NULL
    WHERE id = p_task AND status IN ('pending', 'running', 'waiting') RETURNING * INTO ended;
  IF FOUND THEN
    -- They may be large, and nobody needs them.
    ended.cursor := NULL;
    ended.toolset := NULL;
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    IF p_status <> 'completed' THEN
      p_events := close_open_work(p_task, p_outcome_unknown, p_not_called) || p_events;
    END IF;
    told_last := append_events(told_workflow, p_task, p_events);
    DELETE FROM budget_waits WHERE task_id = p_task;
  END IF;
  IF holder = p_task THEN
    holder := next_in_lane(told_workflow, p_task);
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
      WHERE id = told_workflow;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;
