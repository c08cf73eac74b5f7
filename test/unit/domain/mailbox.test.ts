import { describe, expect, it } from 'vitest';
import { mailbox } from '../../../src/domain/mailbox.ts';

describe('a mailbox', () => {
  const read = async <T>(box: { read(): AsyncGenerator<T> }) => {
    const items: T[] = [];
    for await (const item of box.read()) items.push(item);
    return items;
  };

  it('hands on what was put before and during reading, until its end', async () => {
    const box = mailbox<number>();
    box.put(1);
    const all = read(box);
    await new Promise(setImmediate);
    box.put(2);
    box.put(3);
    await new Promise(setImmediate);
    box.put(4);
    box.end();
    expect(await all).toEqual([1, 2, 3, 4]);
  });

  it('ends a reader that waits', async () => {
    const box = mailbox<number>();
    const all = read(box);
    await new Promise(setImmediate);
    box.end();
    expect(await all).toEqual([]);
  });

  it('replaces everything when more is put than it holds', async () => {
    const box = mailbox<string>({ most: 2, instead: 'lost', getSize: () => 1 });
    for (const item of ['a', 'b']) box.put(item);
    const full = mailbox<string>({ most: 2, instead: 'lost', getSize: () => 1 });
    for (const item of ['a', 'b', 'c', 'd']) full.put(item);
    box.end();
    full.end();
    expect(await read(box)).toEqual(['a', 'b']);
    expect(await read(full)).toEqual(['lost']);
  });

  it('counts what it keeps, and room that was taken is free again', async () => {
    let kept = 0;
    const counted = (change: number) => {
      kept += change;
    };
    const box = mailbox<string>({ most: 4, instead: 'lost', getSize: ({ length }) => length, onSizeChange: counted });
    const reader = box.read();
    const sizes: number[] = [];
    const put = (...items: string[]) => {
      for (const item of items) box.put(item);
      sizes.push(kept);
    };
    const next = async () => {
      const { value } = await reader.next();
      sizes.push(kept);
      return value;
    };
    put('a', 'bcd');
    expect([await next(), await next()]).toEqual(['a', 'bcd']);
    put('efgh');
    put('i', 'j');
    expect(await next()).toBe('lost');
    put('k');
    expect(await next()).toBe('k');
    expect(sizes).toEqual([4, 3, 0, 4, 0, 0, 1, 0]);
  });

  it('hands on nothing to a reader that does not wait for too long, and starts no timer', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const unlimited = mailbox<string>();
    const reader = unlimited.read();
    const first = reader.next();
    await new Promise(setImmediate);
    expect(timers()).toBe(before);
    unlimited.put('a');
    expect((await first).value).toBe('a');
    const box = mailbox<string>({ most: 2, instead: 'idle', getSize: () => 1, idle_ms: 60_000 });
    const patient = box.read();
    const next = patient.next();
    box.put('b');
    expect((await next).value).toBe('b');
    expect(timers()).toBe(before);
    const last = patient.next();
    await new Promise(setImmediate);
    box.put('c');
    expect((await last).value).toBe('c');
  });

  it('hands on the replacement to a reader that has waited too long, and what comes after it', async () => {
    const box = mailbox<string>({ most: 2, instead: 'idle', getSize: () => 1, idle_ms: 5 });
    const reader = box.read();
    expect((await reader.next()).value).toBe('idle');
    box.put('a');
    expect((await reader.next()).value).toBe('a');
    expect((await reader.next()).value).toBe('idle');
    const last = reader.next();
    box.end();
    expect(await last).toEqual({ done: true, value: undefined });
  });
});
