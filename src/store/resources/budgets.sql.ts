import { statement } from '../database/statement.ts';
import { HELD_OF, MOST, PRESENT, SPENT_OF } from '../runs/caps-parts.ts';

/** What is spent and reserved of budgets in their present periods. */
export const budgetStates = statement(
  'budget_states',
  ['ids'],
  `SELECT b.id, ${SPENT_OF} AS spent, ${HELD_OF} AS reserved, present.starts_at, present.ends_at
    FROM budgets b ${PRESENT} WHERE b.id = ANY (:ids::uuid[])`,
);

/** True if Postgres knows the time zone. */
export const knowsTimeZone = statement(
  'knows_time_zone',
  ['time_zone'],
  `SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = :time_zone) AS is_known`,
);

/** The budgets of which most is used, for metrics. */
export const mostUsedBudgets = statement(
  'most_used_budgets',
  ['limit'],
  `SELECT b.id, b.scope, CASE WHEN b.limit_usd IS NULL THEN 'tokens' ELSE 'usd' END AS unit, ${MOST} AS "limit", ${SPENT_OF} AS spent,
      ${HELD_OF} AS reserved, ${SPENT_OF} / ${MOST} AS used
    FROM budgets b ${PRESENT} ORDER BY used DESC, b.id LIMIT :limit::int`,
);
