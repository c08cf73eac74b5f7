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
