import type pg from 'pg';
import type { LogPlace, Mark, ServerPlace } from '../../domain/epoch.ts';
import { OutageError } from '../../domain/outages.ts';
import { inTransaction, LONG_STATEMENT_MS, onlyRow, row, withTimeLimit } from '../database/database.ts';
import * as sql from '../database/installation.sql.ts';

export interface Restore {
  /** The epoch that the restore began. */
  epoch: number;
  restored_at: Date;
  /** The number of tasks that had not ended. Their writes may have happened already. */
  tasks: number;
}

/** The mark of the record, and when it was last restored. */
interface RecordedEpoch extends Mark {
  restored_at?: string;
  /** The server on which the epoch continues; absent: not recorded yet. */
  server?: ServerPlace;
}

export type EpochStore = ReturnType<typeof epochStore>;

export function epochStore(pool: pg.Pool) {
  return {
    /** Returns the mark, with the position of the database's log if the server reports it. The position is read last. */
    async read(): Promise<RecordedEpoch> {
      const epoch_row = await row<{ epoch: RecordedEpoch }>(pool, sql.readEpoch());
      if (epoch_row) {
        const log = await logPlace(pool);
        return { ...epoch_row.epoch, ...(log ? { log } : {}) };
      }
      await row(pool, sql.beginFirstEpoch());
      return this.read();
    },
    /** Advances the mark and returns it; null if the last one is not yet this old. Records the server if none is recorded. */
    async advance(older_than_seconds: number, { log }: Pick<Mark, 'log'> = {}): Promise<Mark | null> {
      const values = { older_than: older_than_seconds, server: log ? textOfServer(log) : null };
      const advanced = await row<{ epoch: Mark }>(pool, sql.advanceBeat(values));
      return advanced ? { ...advanced.epoch, ...(log ? { log } : {}) } : null;
    },
    /** Returns the number of unfinished tasks from before a restore. */
    countRestoredTasks: async () => (await onlyRow<{ tasks: number }>(pool, sql.countRestoredTasks())).tasks,
    noteRestore: (behind?: Mark, only_if?: (recorded_epoch: RecordedEpoch) => boolean) => noteRestore(pool, behind, only_if),
  };
}

/**
 * Marks the installation as restored: begins a new epoch, in which people are asked about writes of unfinished tasks, and streams
 * begin again. With `behind`, only while the record is behind that mark; with `only_if`, only if it holds for the locked record.
 * Records the server that the epoch begins on.
 */
export async function noteRestore(
  pool: pg.Pool,
  behind?: Mark,
  only_if: (recorded_epoch: RecordedEpoch) => boolean = () => true,
): Promise<Restore | null> {
  const { epoch = null, beat = null } = behind ?? {};
  const log = await logPlace(pool);
  const restore = await inTransaction(pool, async (on) => {
    await row(on, sql.beginFirstEpoch());
    const epoch_row = await row<{ epoch: RecordedEpoch }>(withTimeLimit(on, LONG_STATEMENT_MS), sql.lockEpoch());
    if (!epoch_row || !only_if(epoch_row.epoch)) return undefined;
    const restore = await row<Restore>(withTimeLimit(on, LONG_STATEMENT_MS), sql.beginNextEpoch({ epoch, beat }));
    if (restore && log) await row(on, sql.noteServer({ server: textOfServer(log) }));
    return restore;
  });
  return restore ?? null;
}

const textOfServer = ({ cluster, timeline }: ServerPlace) => JSON.stringify({ cluster, timeline });

/**
 * SQLSTATEs with which a server may refuse: it lacks the function, or this account may not call it, or its state does not allow
 * it.
 */
const REFUSED = /^(42501|42883|0A|55000)/;
/** Servers that have refused. They are not asked again, so that their logs do not fill with refusals. */
const silent = new WeakSet<pg.Pool>();

/**
 * Returns the position of the server's log; undefined if the server does not report it, or is a standby, whose record another server
 * keeps.
 */
async function logPlace(pool: pg.Pool): Promise<LogPlace | undefined> {
  if (silent.has(pool)) return undefined;
  try {
    return await row<LogPlace>(pool, sql.readLogPlace());
  } catch (error) {
    // The pool reports a refusal as an outage, although this server works.
    const { code } = (error instanceof OutageError ? error.cause : error) as pg.DatabaseError;
    if (!REFUSED.test(code ?? '')) throw error;
    silent.add(pool);
    return undefined;
  }
}
