import type pg from 'pg';
import { onlyRow, row } from '../database/database.ts';
import { admitRequest, giveBackRequest } from './provider-rates.sql.ts';

/** The divisor for the requests allowed in a burst: a tenth of the rate per minute, at least one. */
const BURST_SHARE = 10;
const MINUTE_MS = 60_000;

export const providerRates = (pool: pg.Pool) => ({
  /**
   * Reserves a request slot of the provider. Returns 0 if it is granted, otherwise the milliseconds to wait before asking again.
   */
  async admit(provider_id: string, requests_per_minute: number): Promise<number> {
    const each = MINUTE_MS / requests_per_minute;
    const burst = Math.max(1, Math.floor(requests_per_minute / BURST_SHARE));
    const { wait_ms } = await onlyRow<{ wait_ms: number }>(
      pool,
      admitRequest({ provider_id, interval_ms: each, slack_ms: each * (burst - 1) }),
    );
    return Math.ceil(wait_ms);
  },
  /** Returns a slot that nothing used. */
  async giveBack(provider_id: string, requests_per_minute: number): Promise<void> {
    await row(pool, giveBackRequest({ provider_id, interval_ms: MINUTE_MS / requests_per_minute }));
  },
});
