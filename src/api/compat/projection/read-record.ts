import { type FollowSource, follow } from '../../../events/follow.ts';
import type { StoredEvent } from '../../../events/task-events.ts';
import type { CompatRun } from '../runs.ts';

/** Stands between the events that were on record when a reader came and those that follow. */
export const CAUGHT_UP = Symbol('caught up');

/** The events of a run: the recorded ones, `CAUGHT_UP`, then those to come. */
export type RunRecord = AsyncIterable<StoredEvent | typeof CAUGHT_UP>;

const PAGE = { limit: 500, bytes: 256 * 1024 };

/**
 * Reads the events of a run from its beginning. Only their order in the record can distinguish a run that waits for an answer from
 * one that has had it. Ends after the run's end, or when the signal is aborted.
 */
export async function* readRunRecord(
  source: FollowSource,
  { workflow_id, task_id }: CompatRun,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent | typeof CAUGHT_UP> {
  let after = 0;
  for (let more = true; more && !signal.aborted; ) {
    const page = await source.log.read(workflow_id, { after, task_id, ...PAGE });
    more = page.more;
    for (const event of page.events) {
      after = event.seq;
      const seq = event.seq;
      const whole =
        event.data === null
          ? await source.waiting.withLarge(() => source.log.one(workflow_id, seq), signal)
          : (event as StoredEvent);
      if (whole) yield whole;
    }
  }
  if (signal.aborted) return;
  yield CAUGHT_UP;
  yield* follow(source, { workflow_id, task_id, after }, signal);
}
