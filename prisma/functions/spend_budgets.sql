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
