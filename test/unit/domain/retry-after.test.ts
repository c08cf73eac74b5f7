import { expect, it } from 'vitest';
import { parseRetryAfter } from '../../../src/domain/retry-after.ts';

const HOUR_MS = 3_600_000;
const dateIn = (ms: number) => new Date(Date.now() + ms).toUTCString();

it.each<[Record<string, string>, number | undefined]>([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '7', 'retry-after-ms': '250' }, 250],
  [{ 'retry-after': '7', 'retry-after-ms': 'soon' }, 7_000],
  [{ 'retry-after': '0' }, undefined],
  [{ 'retry-after': '-5' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': dateIn(-HOUR_MS) }, undefined],
  [{}, undefined],
])('%j is a wait of %j milliseconds', (headers, wait_ms) => {
  expect(parseRetryAfter(new Headers(headers))).toBe(wait_ms);
});

it('counts the time until a date', () => {
  const wait_ms = parseRetryAfter(new Headers({ 'retry-after': dateIn(HOUR_MS) }));
  expect(wait_ms).toBeGreaterThan(HOUR_MS / 2);
  expect(wait_ms).toBeLessThanOrEqual(HOUR_MS);
});
