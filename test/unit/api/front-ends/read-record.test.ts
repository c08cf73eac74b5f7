import { describe, expect, it } from 'vitest';
import { CAUGHT_UP, readRunRecord } from '../../../../src/api/compat/projection/read-record.ts';
import type { FollowSource } from '../../../../src/events/follow.ts';
import { createStreamBudget } from '../../../../src/events/waiting.ts';
import { completes, delta, FIRST, modelCall, numbered, TASK_ID } from '../../../support/front-ends/run-record.ts';

const RUN = { workflow_id: 'w', task_id: TASK_ID };
const EVENTS = numbered([modelCall(1), delta('Hel'), delta('lo'), ...completes()]);

interface Log {
  /** The number of events on record when the reader comes. */
  recorded: number;
  /** The place of an event whose data are loaded on their own; null: it is deleted meanwhile. */
  large?: { at: number; is_kept: boolean };
}

/** A record with two events a page, of which the others follow once the reader has seen the recorded ones. */
function sourceOf({ recorded, large }: Log): FollowSource {
  let visible = recorded;
  const show = (event: (typeof EVENTS)[number], at: number) => (at === large?.at ? { ...event, data: null } : event);
  return {
    bus: { subscribe: () => () => {} },
    log: {
      read: async (_: string, { after }: { after: number }) => {
        const events = EVENTS.map(show)
          .slice(0, visible)
          .filter(({ seq }) => seq > after)
          .slice(0, 2);
        return { events, bytes: 0, more: events.length === 2 };
      },
      one: async (_: string, seq: number) => (large?.is_kept ? EVENTS.find((event) => event.seq === seq) : null),
      extent: async () => {
        visible = EVENTS.length;
        return { last: EVENTS.at(-1)!.seq, over: true, epoch: 0, begin_again_after: null };
      },
    },
    waiting: createStreamBudget(),
  } as unknown as FollowSource;
}

async function listed(log: Log, signal = new AbortController().signal) {
  const seen: (number | string)[] = [];
  for await (const event of readRunRecord(sourceOf(log), RUN, signal))
    seen.push(event === CAUGHT_UP ? 'caught up' : event.data === null ? 'without data' : event.seq - FIRST);
  return seen;
}

describe('the record of a run', () => {
  it.each([
    [0, ['caught up', 0, 1, 2, 3, 4]],
    [2, [0, 1, 'caught up', 2, 3, 4]],
    [3, [0, 1, 2, 'caught up', 3, 4]],
    [5, [0, 1, 2, 3, 4, 'caught up']],
  ])('with %i events says when the reader has caught up', async (recorded, seen) => {
    expect(await listed({ recorded })).toEqual(seen);
  });

  it('loads the data of a large event, and leaves out one that was deleted', async () => {
    expect(await listed({ recorded: 5, large: { at: 1, is_kept: true } })).toEqual([0, 1, 2, 3, 4, 'caught up']);
    expect(await listed({ recorded: 5, large: { at: 1, is_kept: false } })).toEqual([0, 2, 3, 4, 'caught up']);
  });

  it('is not read for a reader that has left', async () => {
    expect(await listed({ recorded: 5 }, AbortSignal.abort())).toEqual([]);
  });
});
