import { expect, it } from 'vitest';
import { parsePeriod, usage } from '../../../src/contracts/usage.ts';

const DAY_MS = 86_400_000;
const to = '2026-03-31T12:34:56.000Z';

it('a report without a begin covers the week before its end, as its description promises', () => {
  expect(parsePeriod({ to })).toEqual({ from: Date.parse(to) - 7 * DAY_MS, to: Date.parse(to) });
  const { from, to: now } = parsePeriod({});
  expect(now - from).toBe(7 * DAY_MS);
  expect(parsePeriod({ from: '2026-03-30T00:00:00Z', to })).toEqual({
    from: Date.parse('2026-03-30T00:00:00Z'),
    to: Date.parse(to),
  });
});

const before = (ms: number) => new Date(Date.parse(to) - ms).toISOString();
const isTaken = (query: object) => usage.get.query.safeParse({ to, ...query }).success;

it.each([
  ['a period', {}, 400 * DAY_MS],
  ['a period by the hour', { interval: 'hour' }, 1_000 * (DAY_MS / 24)],
])('%s may be as long as its refusal names, and not longer or empty', (_, query, most_ms) => {
  expect([1, most_ms - 1, most_ms].map((ms) => isTaken({ ...query, from: before(ms) }))).toEqual([true, true, true]);
  expect([most_ms + 1, 0, -1].map((ms) => isTaken({ ...query, from: before(ms) }))).toEqual([false, false, false]);
});
