import { describe, expect, it } from 'vitest';
import { toTaskQuery } from '../../src/dashboard/runs/task-query.ts';

const here = (year: number, month: number, day: number) => new Date(year, month - 1, day).toISOString();

describe('the query of the task filters', () => {
  it('passes on what the API filters by', () => {
    expect(toTaskQuery({ model: 'm', min_cost: '0.1', group: 'error' })).toEqual({ model: 'm', min_cost: '0.1' });
  });

  it('reads days in the time zone of the reader, the last one included', () => {
    expect(toTaskQuery({ from: '2026-02-27', to: '2026-02-28' })).toEqual({
      since: here(2026, 2, 27),
      until: here(2026, 3, 1),
    });
  });

  it('a first day counts more than an age, and what is no day does not count', () => {
    expect(toTaskQuery({ hours: '24', from: '2026-02-27' })).toEqual({ since: here(2026, 2, 27) });
    expect(toTaskQuery({ from: 'yesterday', to: '2026' })).toEqual({});
  });

  it('an age is a time on a whole minute, so that polling repeats the query', () => {
    const { since = '' } = toTaskQuery({ hours: '1' });
    expect(Date.now() - Date.parse(since)).toBeGreaterThanOrEqual(3_600_000);
    expect(Date.parse(since) % 60_000).toBe(0);
  });
});
