import { describe, expect, it } from 'vitest';
import { bytesText, changePerDay, changeText, daysUntilFull, type SizeSample } from '../../src/domain/sizes.ts';

const sample = (at: string, more: Partial<SizeSample>): SizeSample => ({
  at: `2026-01-${at}:00:00Z`,
  database: 0,
  engine: null,
  home: null,
  disk_free: null,
  ...more,
});

describe('how fast an installation grows', () => {
  it('is unknown until there are two samples of the same thing', () => {
    expect(changePerDay([], 'database')).toBeNull();
    expect(changePerDay([sample('01T00', { database: 5 })], 'database')).toBeNull();
    expect(changePerDay([sample('01T00', { engine: 5 }), sample('02T00', {})], 'engine')).toBeNull();
    expect(changePerDay([sample('01T00', { database: 5 }), sample('01T00', { database: 9 })], 'database')).toBeNull();
    const soon = { ...sample('01T00', { database: 9 }), at: '2026-01-01T00:29:00Z' };
    expect(changePerDay([sample('01T00', { database: 5 }), soon], 'database')).toBeNull();
    expect(changeText(null)).toBe('growth unknown yet (it takes two hourly samples)');
  });

  it('is what the first and the last sample differ by, for one day', () => {
    const samples = [
      sample('01T00', { database: 1_000 }),
      sample('01T06', { database: 9_000 }),
      sample('03T00', { database: 5_000 }),
    ];
    expect(changePerDay(samples, 'database')).toBe(2_000);
    expect([2_000, -2_000, 0].map(changeText)).toEqual(['2.0 kB more a day', '2.0 kB less a day', '0 bytes more a day']);
  });

  it('is measured between the samples that have it', () => {
    const engines = [null, 1_000, 2_000, null];
    const samples = engines.map((engine, day) => sample(`0${day + 1}T00`, { engine }));
    expect(changePerDay(samples, 'engine')).toBe(1_000);
  });

  it('says when the disk is full, unless it is not getting fuller', () => {
    expect(daysUntilFull(100, -5)).toBe(20);
    expect([daysUntilFull(100, 5), daysUntilFull(100, 0), daysUntilFull(100, null)]).toEqual([null, null, null]);
  });
});

it.each([
  [0, '0 bytes'],
  [0.4, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 kB'],
  [1_400, '1.4 kB'],
  [-1_400, '-1.4 kB'],
  [99_900, '99.9 kB'],
  [100_000, '100 kB'],
  [123_456, '123 kB'],
  [2.5e6, '2.5 MB'],
  [1.46e9, '1.5 GB'],
  [69e9, '69.0 GB'],
  [3e12, '3.0 TB'],
  [3e15, '3.0 PB'],
  [3e18, '3000 PB'],
])('a size of %s bytes is written with three digits: %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});
