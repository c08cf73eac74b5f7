import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { deltaPublishers } from '../../src/events/publisher.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

const settled = () => new Promise(setImmediate);

/** Publishers of one worker, and what they sent at each moment. */
function worker(runs: number) {
  const sent: { at: number; text: string }[] = [];
  const make = deltaPublishers();
  const send = (run: number) => async (delta: string) => sent.push({ at: performance.now(), text: `${run} ${delta}` });
  return {
    publishers: Array.from({ length: runs }, (_, run) => make(send(run))),
    moments: (after = 0) => {
      const late = sent.filter(({ at }) => at >= after);
      return [...Map.groupBy(late, ({ at }) => at).values()].map((all) => all.map(({ text }) => text));
    },
  };
}

async function pass(milliseconds: number): Promise<void> {
  vi.advanceTimersByTime(milliseconds);
  await settled();
}

describe('text of a run', () => {
  it('is published at once if nothing was published before, then in batches', async () => {
    const { moments, publishers } = worker(1);
    const [only] = publishers;
    only?.push('a');
    await settled();
    expect(moments()).toEqual([['0 a']]);
    for (const word of ['b', 'c', 'd']) {
      only?.push(word);
      await pass(10);
    }
    expect(moments()).toHaveLength(1);
    await pass(50);
    expect(moments()).toEqual([['0 a'], ['0 bcd']]);
  });

  it('is published at once if it is as long as a batch may be', async () => {
    const { moments, publishers } = worker(1);
    publishers[0]?.push('a');
    await settled();
    publishers[0]?.push('b'.repeat(4_095));
    await settled();
    expect(moments()).toEqual([['0 a']]);
    publishers[0]?.push('c');
    await settled();
    expect(moments()).toEqual([['0 a', `0 ${'b'.repeat(4_095)}c`]]);
  });

  it('is published together with the texts of the other runs', async () => {
    const { moments, publishers } = worker(20);
    for (const [at, publisher] of publishers.entries()) {
      publisher.push(`first ${at}`);
      await pass(2);
    }
    expect(moments()).toHaveLength(20);
    // Each run speaks at its own moments, and twice within 50 ms. Those that were silent before do so at once.
    const steady = performance.now() + 60;
    for (let turn = 0; turn < 10; turn += 1) {
      for (const publisher of publishers) {
        publisher.push('.');
        await pass(1);
      }
    }
    await pass(50);
    const shared = moments(steady);
    expect(shared.length).toBeLessThanOrEqual(5);
    expect(shared.map((texts) => texts.length)).toEqual(shared.map(() => 20));
  });

  it('is published less often the more runs speak, and often again when they have ended', async () => {
    const { moments, publishers } = worker(400);
    const speak = async (speaking: typeof publishers, milliseconds: number) => {
      const start = performance.now();
      while (performance.now() < start + milliseconds) {
        for (const publisher of speaking) publisher.push('.');
        await pass(10);
      }
      return moments(start + milliseconds / 2).length;
    };
    expect(await speak(publishers, 3_000)).toBe(10);
    expect(await speak(publishers.slice(0, 100), 3_000)).toBe(15);
    expect(await speak(publishers.slice(0, 10), 3_000)).toBe(30);
  });

  it('waits for the one before it, and is published as a whole by a flush', async () => {
    const sent: string[] = [];
    let let_go = () => {};
    const slow = (delta: string) => {
      sent.push(delta);
      return new Promise<void>((resolve) => {
        let_go = resolve;
      });
    };
    const publisher = deltaPublishers()(slow);
    publisher.push('a');
    await settled();
    for (const word of ['b', 'c', 'd']) {
      publisher.push(word);
      await pass(60);
    }
    expect(sent).toEqual(['a']);
    publisher.push('e');
    const flushed = publisher.flush();
    let_go();
    await settled();
    expect(sent).toEqual(['a', 'bcde']);
    let_go();
    await flushed;
    await pass(200);
    expect(sent).toEqual(['a', 'bcde']);
  });
});

describe('a failure', () => {
  it('of the database ends the text and is noted; the text is published again from elsewhere', async () => {
    const sent: string[] = [];
    const publisher = deltaPublishers()(async (delta) => {
      sent.push(delta);
      throw new OutageError({ code: 'database_unavailable', sentence: 'The database is unreachable' }, null);
    });
    publisher.push('a');
    await settled();
    publisher.push('b');
    await publisher.flush();
    expect([sent, publisher.complete()]).toEqual([['a'], false]);
  });

  it('of another kind surfaces in the flush', async () => {
    const publisher = deltaPublishers()(() => Promise.reject(new Error('stale')));
    publisher.push('a');
    await settled();
    publisher.push('b');
    await expect(publisher.flush()).rejects.toThrow('stale');
  });
});
