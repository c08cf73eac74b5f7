import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startsInTurn } from '../../src/temporal/start/starts.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const settled = () => vi.advanceTimersByTimeAsync(0);

/** Starts whose work ends at once, in the order of their turns. */
function begin(most: number, steps_here = true) {
  const starts = startsInTurn(most);
  const order: string[] = [];
  const start = (task_id: string, owner = 'ada') =>
    starts.inTurn({ task_id, owner, steps_here }, async () => {
      order.push(task_id);
      return task_id;
    });
  return { starts, order, start };
}

describe('starts in turn', () => {
  it('are only so many at once, until their models are asked', async () => {
    const { starts, order, start } = begin(2);
    const all = ['a', 'b', 'c', 'd'].map((id) => start(id));
    await settled();
    expect(order).toEqual(['a', 'b']);
    starts.endTurn('b');
    starts.endTurn('b');
    await settled();
    expect(order).toEqual(['a', 'b', 'c']);
    starts.endTurn('a');
    expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('end with their work where no steps are made', async () => {
    const { order, start } = begin(1, false);
    await Promise.all(['a', 'b', 'c'].map((id) => start(id)));
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it('are two for a task that is started twice, of which the first ends at once and only once', async () => {
    const starts = startsInTurn(2);
    const works = ['first', 'second', 'other'].map(() => Promise.withResolvers<string>());
    const begun: number[] = [];
    const start = (task_id: string, at: number) =>
      starts.inTurn({ task_id, owner: 'ada', steps_here: false }, () => {
        begun.push(at);
        return works[at]!.promise;
      });
    const all = [start('a', 0), start('a', 1), start('b', 2), start('c', 0)];
    await settled();
    expect(begun).toEqual([0, 1, 2]);
    works[0]!.resolve('done');
    await settled();
    expect(begun).toEqual([0, 1, 2]);
    for (const { resolve } of works) resolve('done');
    await Promise.all(all);
  });

  it('end when they fail', async () => {
    const { starts, order, start } = begin(1);
    const failing = starts.inTurn({ task_id: 'x', owner: 'ada', steps_here: true }, () => Promise.reject(new Error('no room')));
    const next = start('a');
    await expect(failing).rejects.toThrow('no room');
    expect(await next).toBe('a');
    expect(order).toEqual(['a']);
  });

  it('hold up no other for longer than 300 ms', async () => {
    const { order, start } = begin(1);
    void start('a');
    void start('b');
    await vi.advanceTimersByTimeAsync(299);
    expect(order).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(1);
    expect(order).toEqual(['a', 'b']);
  });

  it('let owners take turns', async () => {
    const { starts, order, start } = begin(1);
    const all = [
      ...['a1', 'a2', 'a3', 'a4'].map((id) => start(id, 'ada')),
      start('b1', 'bob'),
      start('b2', 'bob'),
      start('c1', 'cy'),
    ];
    for (const _ of all) {
      await settled();
      starts.endTurn(order.at(-1) as string);
    }
    await Promise.all(all);
    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('are refused at once if 500 of their owner wait, and nobody else', async () => {
    const { order, start } = begin(1);
    void start('first');
    for (let count = 0; count < 500; count += 1) void start(`a${count}`);
    await expect(start('late')).rejects.toMatchObject({ code: 'too_many_waiting' });
    const other = start('b', 'bob');
    await vi.advanceTimersByTimeAsync(600);
    expect(await other).toBe('b');
    expect(order).toEqual(['first', 'a0', 'b']);
  });

  it('of the same task twice leave no turn taken', async () => {
    const { starts, order, start } = begin(2);
    await Promise.all([start('a'), start('a')]);
    starts.endTurn('a');
    await Promise.all([start('b'), start('c')]);
    expect(order).toEqual(['a', 'a', 'b', 'c']);
  });
});
