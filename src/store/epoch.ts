import type pg from 'pg';
import type { Mark } from '../domain/epoch.ts';
import { inTransaction, LONG_STATEMENT_MS, row, within } from './database.ts';
import * as sql from './statements/installation.ts';

export interface Restore {
  /** The epoch that it began. */
  epoch: number;
  restored_at: Date;
  /** How many tasks had not ended: their writes may have happened already. */
  tasks: number;
}

/** The mark of the record, and when it was last restored. */
interface RecordedEpoch extends Mark {
  restored_at?: string;
}

export type EpochStore = ReturnType<typeof epochStore>;

export function epochStore(pool: pg.Pool) {
  return {
    async read(): Promise<RecordedEpoch> {
      const found = await row<{ epoch: RecordedEpoch }>(pool, sql.readEpoch());
      if (found) return found.epoch;
      await row(pool, sql.beginFirstEpoch());
      return this.read();
    },
    /** The next mark; null if the last one is not yet this old. */
    async advance(older_than_seconds: number): Promise<Mark | null> {
      return (await row<{ epoch: Mark }>(pool, sql.advanceBeat({ older_than: older_than_seconds })))?.epoch ?? null;
    },
    /** How many tasks from before a restore have not ended. */
    restoredTasks: async () => (await row<{ tasks: number }>(pool, sql.countRestoredTasks()))?.tasks ?? 0,
    noteRestore: (behind?: Mark) => noteRestore(pool, behind),
  };
}

/**
 * Marks the installation as restored: a new epoch, in which writes of unended tasks are asked about and streams begin again. With
 * `behind`, only while the record is behind that mark.
 */
export async function noteRestore(pool: pg.Pool, behind?: Mark): Promise<Restore | null> {
  const { epoch = null, beat = null } = behind ?? {};
  const noted = await inTransaction(pool, async (on) => {
    await row(on, sql.beginFirstEpoch());
    return row<Restore>(within(on, LONG_STATEMENT_MS), sql.beginNextEpoch({ epoch, beat }));
  });
  return noted ?? null;
}
