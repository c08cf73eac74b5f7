import { exists } from './files.ts';

/**
 * The settings with which the server's queues serve all owners' waiting work in turn. Each partition of a queue is fair only by
 * itself, so a queue has one.
 */
export const FAIR_QUEUES = [
  'matching.useNewMatcher=true',
  'matching.enableFairness=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
];

/**
 * True if the server may keep its queues fair. With this setting it keeps waiting work in other tables and never reads the
 * former ones, so a database with waiting work keeps the old setting until a start finds those tables empty.
 */
export async function mayBeFair(database: string): Promise<boolean> {
  const sqlite = await import('node:sqlite').catch(() => null);
  // A Node version without SQLite always gets the same answer, because there is no way back either.
  if (!sqlite) return false;
  if (!(await exists(database))) return true;
  const open = new sqlite.DatabaseSync(database, { readOnly: true, timeout: BUSY_MS, enableDoubleQuotedStringLiterals: true });
  try {
    const { fair } = open.prepare(`SELECT ${has('task_queues_v2')} OR NOT ${has('tasks')} AS fair`).get() as { fair: number };
    return fair === 1;
  } catch (error) {
    // An earlier start was killed before it had created its tables.
    if (/no such table/.test((error as Error).message)) return true;
    throw error;
  } finally {
    open.close();
  }
}

const has = (table: string) => `EXISTS (SELECT 1 FROM ${table})`;
const BUSY_MS = 30_000;
