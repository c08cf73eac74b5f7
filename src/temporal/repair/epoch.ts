import { formatMark, isBehind, isMoved, isShorter, type Mark, type ServerPlace } from '../../domain/epoch.ts';
import type { EpochStore, Restore } from '../../store/runs/epoch.ts';
import type { engineMark } from '../client/engine-mark.ts';

/**
 * The mark in a home. Also records whether the home was copied, or `perdura restored` called on it, since the installation last ran from
 * it.
 */
export interface HomeMark {
  read(): Promise<{ mark: Mark | null; was_copied: boolean; was_restored: boolean }>;
  write(mark: Mark): Promise<void>;
}

interface EpochPorts {
  record: EpochStore;
  engine: ReturnType<typeof engineMark>;
  home: HomeMark;
  log(message: string): void;
}

/** The age in seconds at which a mark advances. */
const BEAT_SECONDS = 60;

export type EpochKeeper = ReturnType<typeof epochKeeper>;

/**
 * Detects that the record was restored, in three ways: another place has a later mark than the record, which always advances
 * first; the record's server has a shorter log than before; or the record is on another server, as after a failover, which may
 * have lost the last commits.
 */
export function epochKeeper({ record, engine, home, log }: EpochPorts) {
  let last_mark: Mark | null = null;
  let written_at_home = '';
  let home_was_read = false;

  /**
   * Compares the marks. Reads the record last: it only advances, so a mark that is ahead of it was not written in the meantime.
   * `why` is set if the record was restored.
   */
  async function compare() {
    const in_memory = last_mark;
    const [in_engine, at_home] = await Promise.all([engine.read().catch(() => null), home.read()]);
    const recorded = await record.read();
    const marks = Object.entries({ engine: in_engine, home: at_home.mark, 'running process': in_memory })
      .flatMap(([place, mark]) => (mark && (isBehind(recorded, mark) || isShorter(recorded, mark)) ? [{ place, mark }] : []))
      .sort((one, other) => (isBehind(one.mark, other.mark) ? 1 : -1));
    const newer_mark = marks[0] ?? null;
    const is_moved = isMoved(recorded);
    // Checked only at the start: later, this process is the one that writes there.
    const is_copy = at_home.was_copied && at_home.mark?.installation === recorded.installation;
    const why = newer_mark
      ? `The record is older than what its ${newer_mark.place} has seen`
      : is_moved
        ? describeMove(recorded)
        : null;
    return { recorded, later: newer_mark, why, is_restored: !home_was_read && (is_copy || at_home.was_restored) };
  }

  /**
   * Begins a new epoch if this process is the first to notice the difference. Afterwards the record is in that epoch, on that
   * server.
   */
  async function noteDifference({
    recorded,
    later: newer_mark,
    why,
    is_restored,
  }: Awaited<ReturnType<typeof compare>>): Promise<Restore | null> {
    const begin = () => {
      if (newer_mark && isBehind(recorded, newer_mark.mark)) return record.noteRestore(newer_mark.mark);
      if (why) return record.noteRestore(undefined, ({ epoch }) => epoch === recorded.epoch);
      return is_restored ? record.noteRestore() : null;
    };
    const done = await begin();
    if (done) log(`${why ?? 'The home was restored or copied'}: ${describeRestore(done)}`);
    return done;
  }

  /** Keeps the mark in this process and its home. */
  async function keep(mark: Mark): Promise<void> {
    last_mark = mark;
    home_was_read = true;
    // The mark is compared without the position of the log, which changes all the time.
    const text = formatMark({ ...mark, log: undefined } as Mark);
    if (text === written_at_home) return;
    // A worker may run without a home that it can write to.
    const isWritten = await home.write(mark).then(
      () => true,
      () => false,
    );
    if (isWritten) written_at_home = text;
  }

  /** Compares the marks, and begins a new epoch if the record was restored. Throws if the record cannot be read. */
  async function beginEpochIfRestored(): Promise<Restore | null> {
    const comparison = await compare();
    const restored = await noteDifference(comparison);
    const mark = restored ? await record.read() : comparison.recorded;
    if (restored) await engine.write(mark).catch(() => {});
    await keep(mark);
    return restored;
  }

  return {
    look: beginEpochIfRestored,
    compare,
    /** Looks, then advances the mark everywhere if it is due. Returns the restore that was noticed. */
    async beat(older_than_seconds = BEAT_SECONDS): Promise<Restore | null> {
      const restored = await beginEpochIfRestored();
      const mark = await record.advance(older_than_seconds, last_mark!);
      if (!mark) return restored;
      await engine.write(mark).catch(() => {});
      await keep(mark);
      return restored;
    },
  };
}

const describeMove = ({ server, log }: { server?: ServerPlace; log?: ServerPlace }) =>
  server?.cluster === log?.cluster
    ? `The database has changed from timeline ${server?.timeline} to ${log?.timeline}, as after a failover, and may have lost what was written last`
    : 'The database is on another server than before, and may lack what was written last';

/** Describes a restore, for the log and for the command. */
export const describeRestore = ({ epoch, tasks }: Restore): string =>
  `epoch ${epoch} begins. ${tasks} unfinished tasks ask before they write, and streams send their runs again`;
