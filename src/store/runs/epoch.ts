import type pg from 'pg';
import type { LogPlace, Mark, ServerPlace } from '../../domain/epoch.ts';
import { OutageError } from '../../domain/outages.ts';
import { inTransaction, LONG_STATEMENT_MS, row, withTimeLimit } from '../database/database.ts';
import * as sql from '../database/installation.sql.ts';

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
  /** The server on which the epoch continues; absent: not noted yet. */
  server?: ServerPlace;
}

export type EpochStore = ReturnType<typeof epochStore>;

export function epochStore(pool: pg.Pool) {
  return {
    /** The mark, with where the database is now if it reports it: it is read last. */
    async read(): Promise<RecordedEpoch> {
      const epoch_row = await row<{ epoch: RecordedEpoch }>(pool, sql.readEpoch());
      if (epoch_row) {
        const log = await logPlace(pool);
        return { ...epoch_row.epoch, ...(log ? { log } : {}) };
      }
      await row(pool, sql.beginFirstEpoch());
      return this.read();
    },
    /** The next mark; null if the last one is not yet this old. Notes the server if none is noted. */
    async advance(older_than_seconds: number, { log }: Pick<Mark, 'log'> = {}): Promise<Mark | null> {
      const values = { older_than: older_than_seconds, server: log ? textOfServer(log) : null };
      const advanced = await row<{ epoch: Mark }>(pool, sql.advanceBeat(values));
      return advanced ? { ...advanced.epoch, ...(log ? { log } : {}) } : null;
    },
    /** How many tasks from before a restore have not ended. */
    restoredTasks: async () => (await row<{ tasks: number }>(pool, sql.countRestoredTasks()))?.tasks ?? 0,
    noteRestore: (behind?: Mark, only_if?: (recorded: RecordedEpoch) => boolean) => noteRestore(pool, behind, only_if),
  };
}

/**
 * Marks the installation as restored: a new epoch, in which writes of unended tasks are asked about and streams begin again. With
 * `behind`, only while the record is behind that mark; with `only_if`, only if that holds for the record under its lock. Notes the
 * server that the epoch begins on.
 */
export async function noteRestore(
  pool: pg.Pool,
  behind?: Mark,
  only_if: (recorded: RecordedEpoch) => boolean = () => true,
): Promise<Restore | null> {
  const { epoch = null, beat = null } = behind ?? {};
  const log = await logPlace(pool);
  const noted = await inTransaction(pool, async (on) => {
    await row(on, sql.beginFirstEpoch());
    const recorded = await row<{ epoch: RecordedEpoch }>(withTimeLimit(on, LONG_STATEMENT_MS), sql.lockEpoch());
    if (!recorded || !only_if(recorded.epoch)) return undefined;
    const restore = await row<Restore>(withTimeLimit(on, LONG_STATEMENT_MS), sql.beginNextEpoch({ epoch, beat }));
    if (restore && log) await row(on, sql.noteServer({ server: textOfServer(log) }));
    return restore;
  });
  return noted ?? null;
}

const textOfServer = ({ cluster, timeline }: ServerPlace) => JSON.stringify({ cluster, timeline });

/** What a server may refuse: it does not have the function, or not for this account, or not in its state. */
const REFUSED = /^(42501|42883|0A|55000)/;
/** Servers that have refused, so that their logs do not fill with it. */
const silent = new WeakSet<pg.Pool>();

/** Null if the server does not say it, or if it is a standby, whose record somebody else keeps. */
async function logPlace(pool: pg.Pool): Promise<LogPlace | null> {
  if (silent.has(pool)) return null;
  try {
    return (await row<LogPlace>(pool, sql.readLogPlace())) ?? null;
  } catch (error) {
    // The pool takes it for a server that cannot serve, which this one can.
    const { code } = (error instanceof OutageError ? error.cause : error) as pg.DatabaseError;
    if (!REFUSED.test(code ?? '')) throw error;
    silent.add(pool);
    return null;
  }
}
