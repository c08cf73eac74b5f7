import { exists } from './files.ts';

/** What the server's queues need to give the waiting work of all owners a turn. Each partition of a queue is fair by itself: one is enough. */
export const FAIR_QUEUES = [
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
];

/**
 * Whether the server may keep its queues fair. It then keeps waiting work in other tables and does not read the former ones, so a
 * database in which work waits stays without, until a start finds those empty.
 */
export async function mayBeFair(database: string): Promise<boolean> {
  const sqlite = await import('node:sqlite').catch(() => null);
  // Always the same answer for a version of Node without it, because there is no way back either.
  if (!sqlite) return false;
  if (!(await exists(database))) return true;
  const open = new sqlite.DatabaseSync(database, { readOnly: true, timeout: BUSY_MS, enableDoubleQuotedStringLiterals: true });
  try {
    const { fair } = open.prepare(`SELECT ${has('task_queues_v2')} OR NOT ${has('tasks')} AS fair`).get() as { fair: number };
    return fair === 1;
  } catch (error) {
    // A start that was killed before it had made its tables.
    if (/no such table/.test((error as Error).message)) return true;
    throw error;
  } finally {
    open.close();
  }
}

const has = (table: string) => `EXISTS (SELECT 1 FROM ${table})`;
const BUSY_MS = 30_000;
