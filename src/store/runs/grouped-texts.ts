import { findOutage } from '../../domain/outages.ts';
import type { NewEvent } from '../../events/task-events.ts';
import { type Queryable, rows } from '../database/database.ts';
import { appendTexts } from './deltas.sql.ts';

/** A piece of text that an attempt of a step publishes. */
interface RunText {
  task_id: string;
  workflow_id: string;
  step: number;
  attempt: number;
  /**
   * The number of an event that comes before this text and after all earlier texts of the attempt. Any text of the attempt above
   * it is this one.
   */
  after: number;
  event: NewEvent;
}

interface Waiting {
  text: RunText;
  resolve(number: number | null): void;
  reject(error: unknown): void;
}

/**
 * The largest batch. For a longer one Postgres would plan for many rows, and a batch that grew during a stall would take long.
 */
const MOST = 256;
/** The number of statements at a time. A statement that waits for a connection or a lock must not hold up all others. */
const MOST_STATEMENTS = 4;

interface Writers {
  /** Called with each text that a batch has written. */
  onWritten(text: RunText, last: number): void;
  /**
   * Writes a text in a separate statement, which waits for locks. Returns its number; null if its attempt does not own the step.
   */
  writeSeparately(text: RunText): Promise<number | null>;
}

/**
 * Writes the texts of all runs of this process. The next batch collects while statements are in progress, so a busy process needs
 * few of them. Each text is written or refused separately. The texts of a run keep their order if the run waits for each. Returns
 * the number of the text; null if it was refused. If the database failed, the text may have been written: sent again, it is
 * written at most once.
 */
export function createTextWriter(
  pool: Queryable,
  { onWritten, writeSeparately: alone }: Writers,
): (text: RunText) => Promise<number | null> {
  let waiting: Waiting[] = [];
  let writing = 0;

  async function writeAll(): Promise<void> {
    // All texts of the same turn of the event loop share the first batch.
    await new Promise(setImmediate);
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST);
      waiting = waiting.slice(MOST);
      await writeBatch(batch);
    }
    writing -= 1;
  }

  async function writeBatch(batch: Waiting[]): Promise<void> {
    const texts = JSON.stringify(batch.map(({ text }, ord) => ({ ...text, ord })));
    const written_texts = await rows<{ ord: number; last: number }>(pool, appendTexts({ texts })).catch((error: unknown) => {
      // After an outage, nobody knows if they were written. Any other error wrote nothing and concerns one of them, so each is
      // tried separately.
      for (const one of batch) findOutage(error) ? one.reject(error) : void writeAlone(one);
    });
    if (!written_texts) return;
    const numbers = new Map(written_texts.map(({ ord, last }) => [ord, last]));
    for (const [ord, one] of batch.entries()) {
      const last = numbers.get(ord);
      if (last === undefined) void writeAlone(one);
      else {
        one.resolve(last);
        onWritten(one.text, last);
      }
    }
  }

  const writeAlone = ({ text, resolve, reject }: Waiting) => alone(text).then(resolve, reject);

  return (text) =>
    new Promise((resolve, reject) => {
      waiting.push({ text, resolve, reject });
      if (writing === MOST_STATEMENTS) return;
      writing += 1;
      void writeAll();
    });
}
