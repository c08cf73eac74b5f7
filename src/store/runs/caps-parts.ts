/** The present period of budget `b` as `present`, what was spent in it as `spent`, and the live reservations as `held`. */
export const PRESENT = `CROSS JOIN LATERAL budget_period(b.period, b.time_zone, now()) AS present
    LEFT JOIN budget_periods spent ON spent.budget_id = b.id AND spent.starts_at = present.starts_at
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(r.cost), 0) AS cost, coalesce(sum(r.tokens), 0) AS tokens, count(*) AS calls FROM budget_reservations r
      WHERE r.budget_id = b.id AND r.starts_at = present.starts_at AND r.alive_until > now()) AS held`;

/** The limit, and what was spent and is reserved, in the unit of budget `b`. */
export const MOST = 'coalesce(b.limit_usd, b.limit_tokens)';
export const SPENT_OF = `coalesce(CASE WHEN b.limit_usd IS NULL THEN spent.tokens ELSE spent.cost END, 0)`;
export const HELD_OF = `CASE WHEN b.limit_usd IS NULL THEN held.tokens ELSE held.cost END`;

/** The caps that apply to row `t` of a task, as the arguments of the database functions. */
export const OF_TASK = 't.owner, t.service_key_id, t.agent_id, t.workflow_id, t.scheduled_agent_id';
/** True if a budget applies, or applied when the run began to wait for it: the next reservation ends that wait. */
export const HAS_CAPS = `(EXISTS (SELECT FROM budgets) AND EXISTS (SELECT FROM budgets_for(${OF_TASK}))
        OR EXISTS (SELECT FROM budget_waits bw WHERE bw.task_id = t.id))`;

/** The columns of a task that say which budgets apply to it, for a CTE `run` that changes the task. */
export const PAYERS = 'owner, service_key_id, agent_id, tasks.workflow_id, scheduled_agent_id';
/**
 * Counts what the CTE `run` was charged in the budgets, in the statement that charges it. The cost of an answer without a price is
 * unknown.
 */
export const SPENT_FROM_CAPS = `spend_budgets(:reservation::uuid, run.owner, run.service_key_id, run.agent_id, run.workflow_id,
      run.scheduled_agent_id, CASE WHEN :unpriced_model::text IS NULL THEN :cost::float8 END, (:total_in::bigint + :total_out::bigint)::float8) AS is_capped`;
