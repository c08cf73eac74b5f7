import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { closedLoop, spreadOf } from '../../bench/load.ts';

it('computes the median, the 95th percentile, the maximum and the mean of the measurements', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(spreadOf(values)).toEqual({ count: 100, p50: 51, p95: 96, max: 100, mean: 50.5 });
});

it('keeps each client at one run at a time and counts none that began with the others', async () => {
  let under_way = 0;
  let most = 0;
  let runs = 0;
  const result = await closedLoop({ clients: 4, window_ms: 100 }, async () => {
    under_way += 1;
    most = Math.max(most, under_way);
    await wait(10);
    under_way -= 1;
    runs += 1;
  });
  expect(most).toBe(4);
  expect(result.errors).toBe(0);
  expect(result.runs_per_second).toBeGreaterThan(0);
  expect(result.latency_ms.count).toBeGreaterThanOrEqual(4);
  expect(result.latency_ms.count).toBeLessThanOrEqual(runs - 4);
});

it('measures runs that take longer than its window', async () => {
  const { latency_ms, runs_per_second } = await closedLoop({ clients: 2, window_ms: 5 }, () => wait(60));
  expect(latency_ms.count).toBeGreaterThanOrEqual(2);
  expect(Number.isFinite(runs_per_second)).toBe(true);
});

it('ends when every run fails, and reports the first error', async () => {
  const { errors, first_error } = await closedLoop({ clients: 2, window_ms: 50 }, async () => {
    throw new Error('refused');
  });
  expect(errors).toBeGreaterThan(0);
  expect(first_error).toBe('refused');
});
