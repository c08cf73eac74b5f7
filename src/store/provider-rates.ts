import type pg from 'pg';
import { row } from './database.ts';

/** Requests that may come at once before the rate is kept to: what a tenth of a minute allows, and at least one. */
const BURST_SHARE = 10;
const MINUTE_MS = 60_000;

/**
 * One row a provider holds the time up to which its requests are spoken for; whoever is admitted moves it on by one
 * interval. All workers ask here, so their rates add up to one. The wait is read as it was before others who ask at the
 * same time were admitted, so it may be too short: whoever waited asks again.
 */
const ADMIT = {
  name: 'admit_request',
  text: `WITH rate AS (SELECT make_interval(secs => $2 / 1000.0) AS each, make_interval(secs => $3 / 1000.0) AS slack),
    taken AS (
      INSERT INTO provider_rates AS p (provider_id, next_at)
      SELECT id, clock_timestamp() + rate.each FROM providers, rate WHERE id = $1
      ON CONFLICT (provider_id) DO UPDATE SET next_at = greatest(p.next_at, clock_timestamp()) + (SELECT each FROM rate)
      WHERE p.next_at <= clock_timestamp() + (SELECT slack FROM rate) RETURNING 1)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM taken) OR NOT EXISTS (SELECT 1 FROM providers WHERE id = $1) THEN 0
      ELSE greatest(1, coalesce((SELECT extract(epoch FROM p.next_at - rate.slack - clock_timestamp()) * 1000
        FROM provider_rates p, rate WHERE p.provider_id = $1), $2)) END::float8 AS wait_ms`,
};

export const providerRates = (pool: pg.Pool) => ({
  /** Takes a place in the provider's minute: 0, or how many milliseconds to wait before asking again. */
  async admit(provider_id: string, requests_per_minute: number): Promise<number> {
    const each = MINUTE_MS / requests_per_minute;
    const burst = Math.max(1, Math.floor(requests_per_minute / BURST_SHARE));
    const found = await row<{ wait_ms: number }>(pool, ADMIT, [provider_id, each, each * (burst - 1)]);
    const wait_ms = found?.wait_ms ?? 0;
    return wait_ms > 0 ? Math.ceil(wait_ms) : 0;
  },
});
