import { describe, expect, it } from 'vitest';
import type { NewEvent, StoredEvent } from '../../src/domain/events.ts';
import { type EventBus, MISSED, type Notice } from '../../src/events/bus.ts';
import { follow } from '../../src/events/follow.ts';

const TASK = 't1';
const event = (text: string): NewEvent => ({ type: 'log', data: { event: text, detail: '' }, timestamp: 'now' });

/** A bus and a record in memory that behave like the real ones: an announced event is already recorded. */
function world() {
  const record: StoredEvent[] = [];
  const listeners = new Set<(notice: Notice) => void>();
  let reads = 0;
  return {
    record,
    reads: () => reads,
    watching: () => listeners.size,
    write(...events: NewEvent[]): Notice {
      for (const fresh of events) record.push({ ...fresh, seq: record.length + 1, task_id: TASK });
      return { last: record.length, task_id: TASK, events };
    },
    announce(notice: Notice) {
      for (const listener of listeners) listener(notice);
    },
    source: {
      bus: {
        async subscribe(_workflow: string, listener: (notice: Notice) => void) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      } as unknown as EventBus,
      log: {
        async read(_workflow: string, { after, limit = 500 }: { after: number; limit?: number }) {
          reads += 1;
          return record.filter(({ seq }) => seq > after).slice(0, limit);
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
    memory.write(event('a'), { type: 'status', data: { status: 'completed', task_id: TASK }, timestamp: 'now' }, event('later'));
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
});
