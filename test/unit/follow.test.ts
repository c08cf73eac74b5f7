import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSharedFrames } from '../../src/api/http/event-frames.ts';
import { OutageError } from '../../src/domain/outages.ts';
import { type EventBus, MISSED, type Notice } from '../../src/events/bus.ts';
import { follow, followAfterLook, followInParts, type RecordPage } from '../../src/events/follow.ts';
import { withSharedPages } from '../../src/events/shared-pages.ts';
import type { NewEvent, StoredEvent } from '../../src/events/task-events.ts';
import { createStreamBudget } from '../../src/events/waiting.ts';
import { measureBudget } from '../../src/observe/measured.ts';

const TASK = 't1';
const LARGE_BYTES = 64 * 1024;
const event = (text: string): NewEvent => ({ type: 'log', data: { event: 'goal_reminder', detail: text }, timestamp: 'now' });

interface Asked {
  after: number;
  limit: number;
  bytes: number;
}

/** A bus and a record in memory that behave like the real ones: an announced event is already recorded. */
function world() {
  const record: StoredEvent[] = [];
  const listeners = new Set<(notice: Notice) => void>();
  let reads = 0;
  let looks = 0;
  let over = false;
  return {
    record,
    reads: () => reads,
    looks: () => looks,
    end: () => {
      over = true;
    },
    watching: () => listeners.size,
    write(...events: NewEvent[]): Notice {
      for (const fresh of events) record.push({ ...fresh, seq: record.length + 1, task_id: TASK });
      return { last: record.length, task_id: TASK, events, bytes: JSON.stringify(events).length };
    },
    announce(notice: Notice) {
      for (const listener of listeners) listener(notice);
    },
    source: {
      waiting: createStreamBudget(),
      bus: {
        subscribe(_workflow: string, listener: (notice: Notice) => void) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      } as unknown as EventBus,
      log: {
        async read(_workflow: string, { after, limit, bytes }: Asked): Promise<RecordPage> {
          reads += 1;
          const page: RecordPage = { events: [], bytes: 0, more: true };
          const asked = record.filter(({ seq }) => seq > after).slice(0, limit);
          for (const found of asked) {
            if (page.bytes >= bytes) return page;
            const size = JSON.stringify(found.data).length;
            page.events.push(size > LARGE_BYTES ? { ...found, data: null } : found);
            page.bytes += size > LARGE_BYTES ? 0 : size;
          }
          return { ...page, more: asked.length === limit };
        },
        one: async (_workflow: string, seq: number) => record[seq - 1] ?? null,
        // As the record does: a reader beyond its end has to begin again.
        extent: async (_workflow: string, { after }: { after: number }) => {
          looks += 1;
          const last = record.length;
          return { last, over, epoch: 0, begin_again_after: after > last ? 0 : null };
        },
      },
    },
  };
}

async function take(events: AsyncGenerator<StoredEvent>, count: number): Promise<number[]> {
  const seen: number[] = [];
  while (seen.length < count) seen.push((await events.next()).value.seq);
  return seen;
}

/** Notes the number of each event until the reader is stopped. */
async function collect(events: AsyncGenerator<StoredEvent>, seen: number[]): Promise<void> {
  for await (const { seq } of events) seen.push(seq);
}

describe('following a workflow', () => {
  it('reads past events and continues live, each event once, without reading again', async () => {
    const memory = world();
    const stop = new AbortController();
    memory.write(event('a'), event('b'));
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    expect(await take(events, 2)).toEqual([1, 2]);
    const next = events.next();
    memory.announce(memory.write(event('c')));
    expect((await next).value.seq).toBe(3);
    expect(memory.reads()).toBe(1);
    stop.abort();
    await events.return(undefined);
  });

  it('fills a gap from the record, whatever notice was lost, came twice or carried nothing', async () => {
    const memory = world();
    const stop = new AbortController();
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const first = events.next();
    await new Promise((resolve) => setImmediate(resolve));
    memory.write(event('lost'));
    const notice = memory.write(event('b'));
    memory.announce(notice);
    expect((await first).value.seq).toBe(1);
    expect(await take(events, 1)).toEqual([2]);
    memory.announce(notice);
    memory.write(event('c'));
    memory.announce({ last: 3 });
    expect(await take(events, 1)).toEqual([3]);
    memory.write(event('d'));
    memory.announce(MISSED);
    expect(await take(events, 1)).toEqual([4]);
    stop.abort();
    await events.return(undefined);
  });

  it('ends after the terminal status of the task it was asked for', async () => {
    const memory = world();
    memory.write(
      event('a'),
      { type: 'status', data: { status: 'completed', current_turn: 0, task_id: TASK }, timestamp: 'now' },
      event('later'),
    );
    const seen: number[] = [];
    for await (const { seq } of follow(
      memory.source,
      { workflow_id: 'w', after: 0, task_id: TASK },
      new AbortController().signal,
    ))
      seen.push(seq);
    expect(seen).toEqual([1, 2]);
    expect(memory.watching()).toBe(0);
  });

  it('ends when its watcher goes, and leaves no listener behind', async () => {
    const memory = world();
    const stop = new AbortController();
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const next = events.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(memory.watching()).toBe(1);
    stop.abort();
    expect((await next).done).toBe(true);
    expect(memory.watching()).toBe(0);
  });

  it('continues even if the bus never announces anything', async () => {
    const memory = world();
    const stop = new AbortController();
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const next = events.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    memory.write(event('a'));
    expect((await next).value.seq).toBe(1);
    stop.abort();
    await events.return(undefined);
  }, 20_000);

  it('outlives a database that is unavailable for a while', async () => {
    const memory = world();
    const stop = new AbortController();
    const { read } = memory.source.log;
    let failures = 2;
    memory.source.log.read = async (...asked) => {
      if (failures-- > 0) throw new OutageError({ code: 'database_unavailable', sentence: 'The database is unreachable' }, null);
      return read(...asked);
    };
    memory.write(event('a'));
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    expect(await take(events, 1)).toEqual([1]);
    stop.abort();
    await events.return(undefined);
  }, 20_000);

  it('ends for a task that has ended, whatever event number it resumes from', async () => {
    const memory = world();
    memory.write(event('a'), { type: 'status', data: { status: 'completed', current_turn: 0, task_id: TASK }, timestamp: 'now' });
    memory.end();
    const followed = async (after: number) => {
      const seen: unknown[] = [];
      for await (const { seq, data } of follow(
        memory.source,
        { workflow_id: 'w', after, task_id: TASK },
        new AbortController().signal,
      ))
        seen.push([
          seq,
          'event' in data && data.event === 'goal_reminder'
            ? data.detail
            : 'event' in data
              ? data.event
              : 'status' in data && data.status,
        ]);
      return seen;
    };
    const whole = [
      [1, 'a'],
      [2, 'completed'],
    ];
    expect(await followed(2)).toEqual([]);
    expect(await followed(3)).toEqual([[0, 'stream_reset'], ...whole]);
    expect(await followed(1_000_000)).toEqual([[0, 'stream_reset'], ...whole]);
  });

  it('begins again, once, if the record goes back under a reader, and reads an idle record no more', async () => {
    const memory = world();
    const stop = new AbortController();
    memory.write(event('a'), event('b'), event('c'));
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    expect(await take(events, 3)).toEqual([1, 2, 3]);
    const next = events.next();
    memory.record.length = 1;
    memory.announce(MISSED);
    expect((await next).value).toMatchObject({ seq: 0, data: { event: 'stream_reset' } });
    expect(await take(events, 1)).toEqual([1]);
    const fresh = events.next();
    memory.announce(MISSED);
    memory.announce(memory.write(event('other b')));
    expect((await fresh).value).toMatchObject({ seq: 2, data: { detail: 'other b' } });
    stop.abort();
    await events.return(undefined);
  });
});

describe('a record that fails', () => {
  const down = () => new OutageError({ code: 'database_unavailable', sentence: 'The database is unreachable' }, null);
  const largeRecord = () => {
    const memory = world();
    memory.write(event('x'.repeat(LARGE_BYTES + 1)));
    return memory;
  };

  it.each(['extent', 'read', 'one'] as const)('ends its reader with the fault of `%s`', async (name) => {
    const memory = largeRecord();
    const fault = new TypeError('ours');
    memory.source.log[name] = (() => Promise.reject(fault)) as never;
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, new AbortController().signal);
    await expect(events.next()).rejects.toBe(fault);
    expect(memory.watching()).toBe(0);
  });

  it.each(['extent', 'read', 'one'] as const)('lets its reader go while `%s` waits for the database', async (name) => {
    const memory = largeRecord();
    const stop = new AbortController();
    memory.source.log[name] = (() => {
      stop.abort();
      return Promise.reject(down());
    }) as never;
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    expect((await events.next()).done).toBe(true);
    expect(memory.watching()).toBe(0);
  });

  it('leaves out a large event that was deleted since', async () => {
    const memory = largeRecord();
    const stop = new AbortController();
    memory.write(event('b'));
    memory.source.log.one = async () => null;
    expect(await take(follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal), 1)).toEqual([2]);
    stop.abort();
  });
});

it('a reader of one task receives no event of another task of its workflow', async () => {
  const memory = world();
  const stop = new AbortController();
  const events = follow(memory.source, { workflow_id: 'w', after: 0, task_id: TASK }, stop.signal);
  const first = events.next();
  await new Promise((resolve) => setImmediate(resolve));
  memory.announce({ ...memory.write(event('of another')), task_id: 't2' } as Notice);
  memory.announce(memory.write(event('own')));
  expect((await first).value).toMatchObject({ seq: 2, data: { detail: 'own' } });
  stop.abort();
  await events.return(undefined);
});

/** A few bytes, some thousands, and more than a page of the record may carry. */
const LENGTHS = [10, 4_000, 200, 30_000, 90_000, 1, 7_000];

describe('a reader that falls behind', () => {
  it('receives every event in order, while little waits for it', async () => {
    const memory = world();
    const stop = new AbortController();
    const events = follow(memory.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const seen: StoredEvent[] = [];
    const read = async (count: number) => {
      for (let taken = 0; taken < count; taken += 1) seen.push((await events.next()).value);
    };
    const most = { waiting: 0 };
    for (let round = 0; round < 200; round += 1) {
      memory.announce(memory.write(event(`${round} `.padEnd(LENGTHS[round % LENGTHS.length]!, 'x'))));
      most.waiting = Math.max(most.waiting, memory.source.waiting.bytes());
      if (round % 20 === 19) await read(5);
    }
    await read(memory.record.length - seen.length);
    expect(seen).toEqual(memory.record);
    expect(most.waiting).toBeGreaterThan(10_000);
    expect(most.waiting).toBeLessThan(256 * 1024);
    stop.abort();
    await events.return(undefined);
    expect(memory.source.waiting.bytes()).toBe(0);
  });
});

describe('readers of one run that are behind', () => {
  const shared = () => {
    const memory = world();
    const log = { ...memory.source.log, one: (workflow: string, seq: number) => memory.source.log.one(workflow, seq) };
    const source = { ...memory.source, log: withSharedPages(log) };
    const stop = new AbortController();
    const framesOf = createSharedFrames();
    return { memory, frames: () => framesOf(followInParts(source, { workflow_id: 'w', after: 0 }, stop.signal)), stop };
  };
  const taken = async (frames: AsyncGenerator<unknown>, count: number) => {
    const seen: unknown[] = [];
    while (seen.length < count) seen.push((await frames.next()).value);
    return seen;
  };

  it('share what is read for them, and the bytes that are sent', async () => {
    const { memory, frames, stop } = shared();
    const COUNT = 60;
    for (let written = 0; written < COUNT; written += 1) memory.write(event(`${written} `.padEnd(4_000, 'x')));
    const [first, ...others] = await Promise.all(Array.from({ length: 30 }, () => taken(frames(), COUNT)));
    const reads = memory.reads();
    expect(first!.map((frame) => /^id: (\d+)\n/.exec(String(frame))?.[1])).toEqual(memory.record.map(({ seq }) => String(seq)));
    expect(others.map((other) => other.findIndex((frame, index) => frame !== first![index]))).toEqual(Array(29).fill(-1));
    expect(reads).toBeLessThan(COUNT / 4);
    const behind = frames();
    expect(await taken(behind, 3)).toEqual(first!.slice(0, 3));
    expect(memory.reads()).toBe(reads);
    stop.abort();
  });

  it('share nothing that was read before the record was restored', async () => {
    const { source } = world();
    const reads: string[] = [];
    let begin_again_after: number | null = null;
    const log = withSharedPages({
      ...source.log,
      async one(workflow, seq) {
        reads.push(`${workflow} ${seq}`);
        return { ...event('x'), seq, task_id: TASK };
      },
      extent: async () => ({ last: 9, over: false, epoch: 1, begin_again_after }),
    });
    const place = { task_id: null, after: 7, epoch: 0 };
    const readBoth = async () => {
      await log.one('w', 7);
      await log.one('other', 7);
    };
    await readBoth();
    await log.extent('w', place);
    await readBoth();
    expect(reads).toEqual(['w 7', 'other 7']);
    begin_again_after = 3;
    await log.extent('w', place);
    await readBoth();
    expect(reads).toEqual(['w 7', 'other 7', 'w 7']);
  });

  it('share a large event while they send it', async () => {
    const { memory, frames, stop } = shared();
    let loads = 0;
    const { one } = memory.source.log;
    memory.source.log.one = (...asked) => {
      loads += 1;
      return one(...asked);
    };
    memory.write(event('x'.repeat(LARGE_BYTES + 1)));
    const late = (await Promise.all([taken(frames(), 1), taken(frames(), 1)])).flat() as (() => Promise<Buffer>)[];
    const [first, second] = [await late[0]!(), await late[1]!()];
    expect(first.length).toBeGreaterThan(LARGE_BYTES);
    expect(first === second).toBe(true);
    expect(loads).toBe(1);
    stop.abort();
  });

  it.each([1, 2])('receive what was written while one of them was reading a record of %i events', async (count) => {
    const { source, ...memory } = world();
    const answered = Promise.withResolvers<void>();
    const log = withSharedPages({
      ...source.log,
      async read(...asked) {
        const page = await source.log.read(...asked);
        await answered.promise;
        return page;
      },
    });
    for (let number = 1; number <= count; number += 1) memory.write(event(`before ${number}`));
    const stop = new AbortController();
    const read = (seen: number[]) => void collect(follow({ ...source, log }, { workflow_id: 'w', after: 0 }, stop.signal), seen);
    const [early, late]: number[][] = [[], []];
    read(early!);
    await expect.poll(memory.reads).toBe(1);
    memory.announce(memory.write(event('meanwhile')));
    // Begins after the notice, and joins the read that began before it.
    read(late!);
    await expect.poll(memory.watching).toBe(2);
    answered.resolve();
    const all = memory.record.map(({ seq }) => seq);
    await expect.poll(() => [early, late]).toEqual([all, all]);
    stop.abort();
  });

  it('receive what was written after a page was read, and what a restored record has', async () => {
    const { memory, frames, stop } = shared();
    memory.write(event('a'), event('b'));
    const [early, late] = [frames(), frames()];
    await taken(early, 2);
    memory.write(event('c'));
    expect(String((await taken(late, 3))[2])).toContain('id: 3');
    memory.announce(MISSED);
    expect(String((await taken(early, 1))[0])).toContain('id: 3');
    memory.record.length = 1;
    memory.announce(MISSED);
    expect(String((await taken(early, 1))[0])).toContain('stream_reset');
    memory.write(event('other b'));
    expect((await taken(frames(), 2)).join()).toMatch(/other b/);
    stop.abort();
  });
});

describe('frames of many streams', () => {
  const FRAMES = 600;
  const FRAME_MS = 0.25;
  afterEach(() => vi.restoreAllMocks());

  /** How many frames are sent in each turn of the event loop, if everything else takes so long before it. */
  async function sentInTurns(else_ms: number[]) {
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const waited: number[] = [];
    const { turn } = measureBudget(createStreamBudget(), { frameWaited: (seconds) => waited.push(seconds) });
    const sent: number[] = [];
    const send = async (frame: number) => {
      await turn();
      now += FRAME_MS;
      sent.push(frame);
    };
    for (let frame = 0; frame < FRAMES; frame += 1) void send(frame);
    await new Promise((resolve) => setImmediate(resolve));
    const turns: number[] = [];
    for (const ms of else_ms) {
      const before = sent.length;
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      turns.push(sent.length - before);
    }
    expect(sent).toEqual(Array.from(sent, (_, index) => index));
    expect(waited.slice(0, 16)).toEqual(Array(16).fill(0));
    expect(waited.at(-1)).toBeCloseTo(((sent.length - 1) * FRAME_MS + else_ms.reduce((all, ms) => all + ms)) / 1_000, 2);
    return turns;
  }

  it('are sent over several turns of the event loop, in the order of the streams', async () => {
    expect(await sentInTurns([1, 2, 3])).toEqual([32, 32, 32]);
  });

  it('are sent for as long as everything else takes, up to 30 ms in a turn', async () => {
    expect(await sentInTurns([16, 24, 1_000])).toEqual([64, 96, 128]);
  });

  it('are sent at once while there are few', async () => {
    const { turn } = createStreamBudget();
    const results: unknown[] = [];
    for (let frame = 0; frame < 100; frame += 1) {
      results.push(turn());
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(results.filter((result) => result !== undefined)).toEqual([]);
  });
});

describe('following after a look', () => {
  const place = { workflow_id: 'w', after: 0 };

  it('continues from the moment of the look on, without reading its end again', async () => {
    const memory = world();
    const stop = new AbortController();
    memory.write(event('a'), event('b'));
    const look = async () => {
      const seen = await memory.source.log.extent('w', { after: 2 });
      memory.announce(memory.write(event('while it looks')));
      return seen;
    };
    const events = (await followAfterLook(memory.source, { ...place, after: 2, look }, stop.signal))!;
    memory.announce(memory.write(event('before it follows')));
    const seqs: number[] = [];
    const following = (async () => {
      for await (const { seq } of events) seqs.push(seq);
    })();
    await vi.waitFor(() => expect(seqs).toEqual([3, 4]));
    memory.announce(memory.write(event('then')));
    await vi.waitFor(() => expect(seqs).toEqual([3, 4, 5]));
    expect(memory.looks()).toBe(1);
    // Whatever the bus lost is still read from the record.
    memory.write(event('lost'));
    memory.announce(MISSED);
    await vi.waitFor(() => expect(seqs).toEqual([3, 4, 5, 6]));
    expect(memory.looks()).toBe(2);
    stop.abort();
    await following;
  });

  it('asks the record where to begin if the look does not say', async () => {
    const memory = world();
    const stop = new AbortController();
    memory.write(event('a'));
    const events = (await followAfterLook(memory.source, { ...place, after: 5, look: async () => null }, stop.signal))!;
    expect((await events.next()).value).toMatchObject({ seq: 0, data: { event: 'stream_reset' } });
    expect((await events.next()).value.seq).toBe(1);
    stop.abort();
    await events.return(undefined);
  });

  it('has nothing for a reader who has every event of a run that is over, and leaves', async () => {
    const memory = world();
    const stop = new AbortController();
    memory.write(event('a'), event('b'));
    const extent = { last: 2, epoch: 0, over: true, begin_again_after: null };
    const followed = (after: number, more: object = {}) =>
      followAfterLook(
        memory.source,
        { ...place, task_id: 't', resumed: true, after, look: async () => ({ ...extent, ...more }) },
        stop.signal,
      );
    expect(await followed(2)).toBe(null);
    expect(memory.watching()).toBe(0);
    for (const others of [followed(1), followed(2, { over: false }), followed(2, { begin_again_after: 0 })])
      expect(await others).not.toBe(null);
    stop.abort();
  });

  it('leaves no subscription of a reader who is refused, or who leaves before the first event', async () => {
    const memory = world();
    const stop = new AbortController();
    const refusal = new Error('not yours');
    await expect(followAfterLook(memory.source, { ...place, look: () => Promise.reject(refusal) }, stop.signal)).rejects.toBe(
      refusal,
    );
    expect(memory.watching()).toBe(0);
    await followAfterLook(memory.source, { ...place, look: async () => null }, stop.signal);
    expect(memory.watching()).toBe(1);
    stop.abort();
    expect(memory.watching()).toBe(0);
    expect(memory.source.waiting.bytes()).toBe(0);
  });
});
