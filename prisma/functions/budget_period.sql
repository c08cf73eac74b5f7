-- Returns the period of a budget around a moment: the day, the week from Monday, or the month, by the clock of its time zone.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION budget_period(p_period text, p_zone text, p_at timestamptz, OUT starts_at timestamptz, OUT ends_at timestamptz)
  LANGUAGE sql STABLE AS $$
  SELECT date_trunc(p_period, p_at AT TIME ZONE p_zone) AT TIME ZONE p_zone,
    (date_trunc(p_period, p_at AT TIME ZONE p_zone) + ('1 ' || p_period)::interval) AT TIME ZONE p_zone
$$;
