import { type Database, inTransaction, onlyRow, row, rows } from '../database/database.ts';
import * as sql from './usage.sql.ts';

interface Period {
  from: string;
  to: string;
  /** The owner whose usage is counted; null: everybody. */
  owner: string | null;
  /** The number of groups with their own rows; all others are one group. */
  most: number;
}

interface Spent {
  /** The key of the group; null: all groups beyond the largest ones. */
  key: string | null;
  label: string | null;
  at: Date | null;
  runs: number;
  completed: number;
  failed: number;
  halted: number;
  estimated: number;
  total_in: number;
  total_out: number;
  cache_read: number;
  cache_write: number;
  premium_requests: number;
  /** Null: nothing of it is known. */
  cost: number | null;
  /** The number of those whose cost is partly unknown. */
  unpriced: number;
}

interface Called {
  name: string;
  calls: number;
  failed: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  total_in: number;
  total_out: number;
  /** Null: nothing of it is known. */
  cost: number | null;
  /** The number of those whose cost is partly unknown. */
  unpriced: number;
}

/** Stores the usage of ended runs and the results of their calls. */
export function usageStore({ pool }: Pick<Database, 'pool'>) {
  /** Adds a batch of ended tasks. Returns their number. */
  const count = (): Promise<number> =>
    inTransaction(pool, async (on) => {
      await row(on, sql.takeUsageTurn());
      const { ids } = await onlyRow<{ ids: string[] }>(on, sql.countUsage());
      if (ids.length > 0) await row(on, sql.addToUsage({ task_ids: ids }));
      return ids.length;
    });
  return {
    /** Adds all ended tasks that are not counted yet. */
    async count(): Promise<void> {
      while ((await count()) === sql.USAGE_BATCH);
    },
    listUsage: (by: sql.UsageGroup, { interval, zone, ...period }: Period & { interval: 'hour' | 'day' | null; zone: string }) =>
      rows<Spent>(pool, sql.spentBy[by]({ ...period, interval, zone })),
    calls: (kind: 'model' | 'tool', period: Period) => rows<Called>(pool, sql.usageOfCalls({ kind, ...period })),
  };
}
