import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { listeners } from '../../src/events/listeners.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a channel stays open for those who come back, and closes 10 s after the last one has left', () => {
  const seen: string[] = [];
  const { add, notify, names } = listeners<string>({
    open: (channel) => seen.push(`open ${channel}`),
    close: (channel) => seen.push(`close ${channel}`),
  });
  const leave = add('a', () => seen.push('first'));
  leave();
  vi.advanceTimersByTime(9_000);
  const leave_again = add('a', () => seen.push('second'));
  vi.advanceTimersByTime(60_000);
  notify('a', 'x');
  expect([seen, names()]).toEqual([['open a', 'second'], ['a']]);
  leave_again();
  leave_again();
  vi.advanceTimersByTime(9_999);
  expect(names()).toEqual(['a']);
  vi.advanceTimersByTime(1);
  expect([seen, names()]).toEqual([['open a', 'second', 'close a'], []]);
});
