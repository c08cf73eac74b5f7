import { describe, expect, it } from 'vitest';
import type { NewEvent, StoredEvent } from '../../src/domain/events.ts';
import { type EventBus, MISSED, type Notice } from '../../src/events/bus.ts';
import { follow } from '../../src/events/follow.ts';

const TASK = 't1';
const event = (text: string): NewEvent => ({ type: 'log', data: { event: text, detail: '' }, timestamp: 'now' });

/** A bus and a record in memory, as the real ones behave: what is told is on record. */
function world() {
  const record: StoredEvent[] = [];
  const listeners = new Set<(notice: Notice) => void>();
  let reads = 0;
  let over = false;
  return {
    record,
    reads: () => reads,
    end: () => {
      over = true;
    },
    watching: () => listeners.size,
    write(...events: NewEvent[]): Notice {
      for (const fresh of events) record.push({ ...fresh, seq: record.length + 1, task_id: TASK });
      return { last: record.length, task_id: TASK, events };
    },
    tell(notice: Notice) {
      for (const listener of listeners) listener(notice);
    },
    source: {
      bus: {
        subscribe(_workflow: string, listener: (notice: Notice) => void) {
          listeners.add(listener);
          return () => void listeners.delete(listener);
        },
      } as unknown as EventBus,
      log: {
        async read(_workflow: string, { after, limit = 500 }: { after: number; limit?: number }) {
          reads += 1;
          return record.filter(({ seq }) => seq > after).slice(0, limit);
        },
        extent: async () => ({ last: record.length, over }),
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
  it('reads the past and goes on live, each event once, without reading again', async () => {
    const it_ = world();
    const stop = new AbortController();
    it_.write(event('a'), event('b'));
    const events = follow(it_.source, { workflow_id: 'w', after: 0 }, stop.signal);
    expect(await take(events, 2)).toEqual([1, 2]);
    const next = events.next();
    it_.tell(it_.write(event('c')));
    expect((await next).value.seq).toBe(3);
    expect(it_.reads()).toBe(1);
    stop.abort();
    await events.return(undefined);
  });

  it('fills a gap from the record, whatever notice was lost, came twice or carried nothing', async () => {
    const it_ = world();
    const stop = new AbortController();
    const events = follow(it_.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const first = events.next();
    await new Promise((resolve) => setImmediate(resolve));
    it_.write(event('lost'));
    const told = it_.write(event('b'));
    it_.tell(told);
    expect((await first).value.seq).toBe(1);
    expect(await take(events, 1)).toEqual([2]);
    it_.tell(told);
    it_.write(event('c'));
    it_.tell({ last: 3 });
    expect(await take(events, 1)).toEqual([3]);
    it_.write(event('d'));
    it_.tell(MISSED);
    expect(await take(events, 1)).toEqual([4]);
    stop.abort();
    await events.return(undefined);
  });

  it('ends after the terminal status of the task it was asked for', async () => {
    const it_ = world();
    it_.write(event('a'), { type: 'status', data: { status: 'completed', task_id: TASK }, timestamp: 'now' }, event('later'));
    const seen: number[] = [];
    for await (const { seq } of follow(it_.source, { workflow_id: 'w', after: 0, task_id: TASK }, new AbortController().signal))
      seen.push(seq);
    expect(seen).toEqual([1, 2]);
    expect(it_.watching()).toBe(0);
  });

  it('ends when its watcher goes, and leaves no listener behind', async () => {
    const it_ = world();
    const stop = new AbortController();
    const events = follow(it_.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const next = events.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(it_.watching()).toBe(1);
    stop.abort();
    expect((await next).done).toBe(true);
    expect(it_.watching()).toBe(0);
  });

  it('goes on although the bus never says anything', async () => {
    const it_ = world();
    const stop = new AbortController();
    const events = follow(it_.source, { workflow_id: 'w', after: 0 }, stop.signal);
    const next = events.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    it_.write(event('a'));
    expect((await next).value.seq).toBe(1);
    stop.abort();
    await events.return(undefined);
  }, 20_000);

  it('outlives a database that is unavailable for a while', async () => {
    const it_ = world();
    const stop = new AbortController();
    const { read } = it_.source.log;
    let failures = 2;
    it_.source.log.read = async (...asked) => {
      if (failures-- > 0) throw new Error('Query read timeout');
      return read(...asked);
    };
    it_.write(event('a'));
    const events = follow(it_.source, { workflow_id: 'w', after: 0 }, stop.signal);
    expect(await take(events, 1)).toEqual([1]);
    stop.abort();
    await events.return(undefined);
  }, 20_000);

  it('ends for a task that has ended, whatever number it is asked to go on from', async () => {
    const it_ = world();
    it_.write(event('a'), { type: 'status', data: { status: 'completed', task_id: TASK }, timestamp: 'now' });
    it_.end();
    for (const after of [2, 3, 1_000_000]) {
      const events = follow(it_.source, { workflow_id: 'w', after, task_id: TASK }, new AbortController().signal);
      expect(await events.next()).toEqual({ done: true, value: undefined });
    }
  });

  it('takes a number that the record has not reached for its end', async () => {
    const it_ = world();
    const stop = new AbortController();
    it_.write(event('a'), event('b'));
    const events = follow(it_.source, { workflow_id: 'w', after: 1_000, task_id: TASK }, stop.signal);
    const next = events.next();
    await new Promise((resolve) => setTimeout(resolve, 50));
    it_.tell(it_.write(event('c')));
    expect((await next).value.seq).toBe(3);
    stop.abort();
    await events.return(undefined);
  });
});
