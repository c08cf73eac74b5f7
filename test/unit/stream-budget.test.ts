import { describe, expect, it } from 'vitest';
import { createStreamBudget } from '../../src/events/waiting.ts';

describe('the budget of streams', () => {
  it('counts what waits for every client, in queues and in replies, and the open streams', () => {
    const { account, watch, bytes, streams } = createStreamBudget();
    const [one, other] = [account(), account()];
    one.add(101);
    other.add(53);
    const [left, stayed] = [watch({ writableLength: 7 }), watch({ writableLength: 11 })];
    expect([bytes(), streams()]).toEqual([172, 2]);
    one.add(-31);
    left();
    expect([bytes(), streams()]).toEqual([134, 1]);
    other.close();
    expect(bytes()).toBe(81);
    one.close();
    stayed();
    expect([bytes(), streams()]).toEqual([0, 0]);
  });

  it.each([
    ['read', 6],
    ['withLarge', 4],
  ] as const)('lets few of many %s at a time, in their order, and continues after one that fails', async (name, most) => {
    const work = createStreamBudget()[name];
    const begun: number[] = [];
    const gates = Array.from({ length: 9 }, () => Promise.withResolvers<void>());
    const signal = new AbortController().signal;
    const all = gates.map(({ promise }, index) =>
      work(async () => {
        begun.push(index);
        await promise;
        return index;
      }, signal),
    );
    const results = Promise.allSettled(all);
    const gone = new AbortController();
    const left = work(async () => begun.push(99), gone.signal).catch(() => 'left');
    await new Promise(setImmediate);
    expect(begun).toHaveLength(most);
    gone.abort();
    expect(await left).toBe('left');
    gates[0]?.reject(new Error('no'));
    await new Promise(setImmediate);
    expect(begun).toHaveLength(most + 1);
    for (const { resolve } of gates) resolve();
    expect((await results).map(({ status }) => status)).toEqual(['rejected', ...Array(8).fill('fulfilled')]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
});
