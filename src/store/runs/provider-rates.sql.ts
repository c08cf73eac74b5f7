import { statement } from '../database/statement.ts';

const FREE = 'p.next_at <= clock_timestamp() + (SELECT slack FROM rate)';
/** True if the time is later than any admitted request can set it: the clock was set back, or the provider's rate was raised. */
const OUT_OF_TIME = 'p.next_at > clock_timestamp() + (SELECT slack + each FROM rate)';

/**
 * Admits a request. One row per provider stores the time up to which its request slots are taken; each admitted request advances
 * it by one interval. All workers use this row, so they share one rate. Concurrent requests may make the returned wait too short,
 * so a caller that has waited asks again.
 */
export const admitRequest = statement(
  'admit_request',
  ['provider_id', 'interval_ms', 'slack_ms'],
  `WITH rate AS (SELECT make_interval(secs => :interval_ms / 1000.0) AS each, make_interval(secs => :slack_ms / 1000.0) AS slack),
    taken AS (
      INSERT INTO provider_rates AS p (provider_id, next_at)
      SELECT id, clock_timestamp() + rate.each FROM providers, rate WHERE id = :provider_id
      ON CONFLICT (provider_id) DO UPDATE SET next_at = (SELECT each FROM rate)
        + CASE WHEN ${OUT_OF_TIME} THEN clock_timestamp() ELSE greatest(p.next_at, clock_timestamp()) END
      WHERE ${FREE} OR ${OUT_OF_TIME} RETURNING 1)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM taken) OR NOT EXISTS (SELECT 1 FROM providers WHERE id = :provider_id) THEN 0
      ELSE greatest(1, coalesce((SELECT extract(epoch FROM p.next_at - rate.slack - clock_timestamp()) * 1000
        FROM provider_rates p, rate WHERE p.provider_id = :provider_id), :interval_ms)) END::float8 AS wait_ms`,
);

/** Returns the slot of a request that was not made. */
export const giveBackRequest = statement(
  'give_back_request',
  ['provider_id', 'interval_ms'],
  `UPDATE provider_rates SET next_at = next_at - make_interval(secs => :interval_ms / 1000.0) WHERE provider_id = :provider_id`,
);
