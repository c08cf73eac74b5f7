import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countDecimals,
  formatCost,
  formatCount,
  formatDistance,
  formatDuration,
  formatMoney,
  formatNumber,
  formatRate,
  formatRunCost,
  formatShare,
  formatTokens,
} from '../../src/dashboard/ui/figures.ts';

const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

describe('a duration', () => {
  it.each([
    [null, '—'],
    [undefined, '—'],
    [0, '0 ms'],
    [0.4, '0 ms'],
    [940, '940 ms'],
    [999.6, '1.0 s'],
    [SECOND, '1.0 s'],
    [59_940, '59.9 s'],
    [59_960, '1 min 0 s'],
    [MINUTE, '1 min 0 s'],
    [119_600, '2 min 0 s'],
    [59 * MINUTE + 59_600, '1 h 0 min'],
    [HOUR, '1 h 0 min'],
    [2 * HOUR + 5 * MINUTE, '2 h 5 min'],
    [30 * HOUR, '30 h 0 min'],
  ])('of %s ms reads %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  it('never has a part that should have been carried over', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 100 * HOUR, noNaN: true }), (ms) => {
        const text = formatDuration(ms);
        const [, milliseconds] = /^(\d+) ms$/.exec(text) ?? [];
        const [, seconds] = /([\d.]+) s$/.exec(text) ?? [];
        const [, minutes] = /(\d+) min/.exec(text) ?? [];
        expect(Number(milliseconds ?? 0), text).toBeLessThan(1_000);
        expect(Number(seconds ?? 0), text).toBeLessThan(60);
        expect(Number(minutes ?? 0), text).toBeLessThan(60);
      }),
    );
  });
});

describe('a sum of money', () => {
  it.each([
    [0, '$0'],
    [0.000_000_3, 'under $0.00001'],
    [0.000_01, '$0.00001'],
    [0.000_42, '$0.00042'],
    [0.009_99, '$0.00999'],
    [0.009_999_9, '$0.01'],
    [0.01, '$0.01'],
    [0.011_86, '$0.0119'],
    [0.45, '$0.45'],
    [0.999_99, '$1.00'],
    [1.005_1, '$1.01'],
    [12.5, '$12.50'],
    [1_234.5, '$1,234.50'],
  ])('of %s reads %s', (dollars, text) => expect(formatMoney(dollars)).toBe(text));

  it('never reads as nothing when something was paid', () => {
    fc.assert(
      fc.property(fc.double({ min: Number.MIN_VALUE, max: 1_000_000, noNaN: true }), (dollars) => {
        expect(formatMoney(dollars)).toMatch(/[1-9]/);
      }),
    );
  });
});

describe('what tokens cost', () => {
  it.each([
    ['nothing for tokens that are free', { cost: 0 }, '$0'],
    ['unknown without a price', { cost: null }, 'unknown'],
    ['their sum', { cost: 0.45 }, '$0.45'],
  ])('is %s', (_, spent, text) => expect(formatCost(spent)).toBe(text));

  it.each([
    ['none if no model has answered', { cost: 0, total_in: 0, total_out: 0 }, '—'],
    ['$0 if they are free', { cost: 0, total_in: 0, total_out: 1 }, '$0'],
    ['unknown without a price', { cost: null, total_in: 1, total_out: 0 }, 'unknown'],
    ['their sum', { cost: 0.45, total_in: 3, total_out: 7 }, '$0.45'],
  ])('in a run is %s', (_, usage, text) => expect(formatRunCost(usage)).toBe(text));

  it.each([
    [0.00031, 5, '$0.00031'],
    [61.27, 5, '$61.27000'],
    [0, 5, '$0.00000'],
    [0.000001, 5, 'under $0.00001'],
    [null, 5, 'unknown'],
  ])('of %s has %i decimals among others that need them', (cost, decimals, text) =>
    expect(formatCost({ cost }, decimals)).toBe(text),
  );

  it.each([
    [null, 0],
    [0, 0],
    [61.27, 2],
    [0.8663, 4],
    [0.00031, 5],
  ])('of %s needs %i decimals by itself', (cost, decimals) => expect(countDecimals({ cost })).toBe(decimals));
});

describe('a rate', () => {
  it.each([
    [0, '0 %'],
    [0.57, '57 %'],
    [2 / 3, '66.6 %'],
    [999 / 1_000, '99.9 %'],
    [9_999 / 10_000, '99.9 %'],
    [1, '100 %'],
  ])('of %s reads %s', (part, text) => expect(formatRate(part)).toBe(text));

  it('reads 100 % only if nothing is missing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), (items) => {
        expect(formatRate((items - 1) / items)).not.toBe('100 %');
        expect(formatRate(items / items)).toBe('100 %');
      }),
    );
  });
});

describe('a count', () => {
  it.each([
    [0, '0', '0 tools'],
    [1, '1', '1 tool'],
    [2, '2', '2 tools'],
    [1_234_567, '1,234,567', '1,234,567 tools'],
  ])('of %s reads %s, and with its noun %s', (number, bare, named) =>
    expect([formatNumber(number), formatCount(number, 'tool')]).toEqual([bare, named]),
  );
});

describe('the distance of a time', () => {
  const now = Date.parse('2026-03-01T13:00:00Z');
  it.each([
    [0, 'just now'],
    [5 * SECOND, 'just now'],
    [6 * SECOND, 'in under a minute'],
    [-59 * SECOND, 'just now'],
    [MINUTE, 'in 1 minute'],
    [-MINUTE, '1 minute ago'],
    [5 * MINUTE, 'in 5 minutes'],
    [-5 * MINUTE, '5 minutes ago'],
    [HOUR - SECOND, 'in 1 hour'],
    [-2 * HOUR, '2 hours ago'],
    [DAY - MINUTE, 'in 1 day'],
    [-DAY, '1 day ago'],
    // Two midnights lie between: not tomorrow.
    [35 * HOUR, 'in 1 day'],
    [10 * DAY, 'in 10 days'],
  ])('that is %s ms from now reads %s', (away, text) =>
    expect(formatDistance(new Date(now + away).toISOString(), now)).toBe(text),
  );
});

describe('a share', () => {
  it.each([
    [0, 10, '0 %'],
    [0, 0, '0 %'],
    [1, 3, '33 %'],
    [1, 1, '100 %'],
    [1, 200, '0.5 %'],
    [1, 1_000, '0.1 %'],
    [1, 100_000, 'under 0.1 %'],
  ])('of %s in %s reads %s', (part, whole, text) => expect(formatShare(part, whole)).toBe(text));
});

it('shows tokens that are partly an estimate as about so many', () => {
  const usage = { total_in: 12_007, total_out: 53 };
  expect(formatTokens(usage)).toBe('12,007 in, 53 out');
  expect(formatTokens({ ...usage, estimated: false })).toBe('12,007 in, 53 out');
  expect(formatTokens({ ...usage, estimated: true })).toBe('about 12,007 in, 53 out');
});
