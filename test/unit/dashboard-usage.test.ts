import Papa from 'papaparse';
import { describe, expect, it } from 'vitest';
import type { UsageRow } from '../../src/contracts/usage.ts';
import { toCsv } from '../../src/dashboard/usage/csv.ts';
import { buildBars, countMarkDecimals, formatName } from '../../src/dashboard/usage/measures.ts';

const row = (values: Partial<UsageRow>): UsageRow => ({
  ...{ key: 'a', label: 'A', at: null, runs: 1, completed: 1, failed: 0, halted: 0, estimated: 0 },
  ...{ total_in: 10, total_out: 5, cache_read: 0, cache_write: 0, premium_requests: 0, cost: 0.5, unpriced: 0 },
  ...values,
});

describe('the bars of a usage chart', () => {
  it('have one series a group, all others last, and a bar for days on which nothing ended', () => {
    const rows = [
      row({ at: '2026-01-01T00:00:00.000Z', key: null, label: null, runs: 9 }),
      row({ at: '2026-01-01T00:00:00.000Z' }),
      row({ at: '2026-01-04T00:00:00.000Z', key: 'b', label: 'B', runs: 3 }),
    ];
    const { data, series } = buildBars({ from: '2025-12-31T00:00:00.000Z', to: '2026-01-05T12:00:00.000Z', rows }, 'runs', 'day');
    expect(series.map(({ label }) => label)).toEqual(['A', 'B', 'all others']);
    expect(series.map(({ color }) => color)).toEqual(['var(--series-1)', 'var(--series-2)', 'var(--series-rest)']);
    const days = ['2025-12-31', '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04', '2026-01-05'];
    expect(data.map(({ at }) => at)).toEqual(days.map((day) => `${day}T00:00:00.000Z`));
    expect(data[1]).toMatchObject({ 'group a': 1, others: 9 });
    expect(data[2]).toEqual({ at: '2026-01-02T00:00:00.000Z' });
    expect(data[4]).toMatchObject({ 'group b': 3 });
  });

  it('have none for a cost that is unknown, and one of zero for a cost of zero', () => {
    const at = '2026-01-01T00:00:00.000Z';
    const rows = [
      row({ at, cost: null, unpriced: 1 }),
      row({ at, key: 'b', cost: 0 }),
      row({ at, key: 'c', cost: 7.5, unpriced: 1 }),
    ];
    const { data } = buildBars({ from: at, to: '2026-01-01T12:00:00.000Z', rows }, 'cost', 'day');
    expect(data).toEqual([{ at, 'group b': 0, 'group c': 7.5 }]);
  });

  it('begin again with the first colour after the sixth', () => {
    const at = '2026-01-01T00:00:00.000Z';
    const rows = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => row({ at, key }));
    const { series } = buildBars({ from: at, to: '2026-01-01T12:00:00.000Z', rows }, 'runs', 'day');
    expect(series.slice(-2).map(({ color }) => color)).toEqual(['var(--series-6)', 'var(--series-1)']);
  });

  it.each([
    [0, 0],
    [0.002, 5],
    [0.39, 3],
    [0.4, 2],
    [3.9, 2],
    [4, 0],
    [7_919, 0],
  ])('have marks with as many decimals as all of them need: at most %d has %i', (highest, decimals) => {
    const part = highest / 4;
    expect(countMarkDecimals([{ at: 'x' }, { at: 'y', a: part, b: highest - part }])).toBe(decimals);
  });

  it('are not doubled where a day has 23 hours', () => {
    const rows = ['03-27T23', '03-28T23', '03-29T22', '03-30T22'].map((at) => row({ at: `2026-${at}:00:00.000Z` }));
    const { data } = buildBars({ from: '2026-03-27T22:00:00.000Z', to: '2026-03-31T21:00:00.000Z', rows }, 'tokens', 'day');
    expect(data.map((bar) => bar['group a'])).toEqual([15, 15, 15, 15]);
  });
});

describe('the name of a group', () => {
  it.each([
    [{ key: null, label: null }, 'all others'],
    [{ key: '', label: null }, 'none'],
    [{ key: 'x', label: 'Office' }, 'Office'],
    [{ key: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001', label: null }, 'deleted (5a1be001)'],
  ])('of %j is %s', (group, name) => expect(formatName(group)).toBe(name));
});

it('a cost in the CSV that is unknown is empty, never 0', () => {
  const rows = [row({ cost: null, unpriced: 3 }), row({ cost: 0 }), row({ cost: 7.5, unpriced: 5 })];
  const { data } = Papa.parse<Record<string, string>>(toCsv(rows), { header: true });
  expect(data.map(({ cost, unpriced }) => [cost, unpriced])).toEqual([
    ['', '3'],
    ['0', '0'],
    ['7.5', '5'],
  ]);
});

it('a name in the CSV is never a formula', () => {
  expect(toCsv([row({ label: '=HYPERLINK("http://x")' }), row({ label: 'a,b' })])).toMatch(
    /\n"'=HYPERLINK\(""http:\/\/x""\)",.*\n"a,b",/,
  );
});
