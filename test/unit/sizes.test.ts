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
    expect(changeText(null)).toContain('unknown yet');
  });

  it('is what the first and the last sample differ by, for one day', () => {
    const samples = [
      sample('01T00', { database: 1_000 }),
      sample('01T06', { database: 9_000 }),
      sample('03T00', { database: 5_000 }),
    ];
    expect(changePerDay(samples, 'database')).toBe(2_000);
    expect([changeText(2_000), changeText(-2_000)]).toEqual(['2.0 kB more a day', '2.0 kB less a day']);
  });

  it('says when the disk is full, unless it is not getting fuller', () => {
    expect(daysUntilFull(100, -5)).toBe(20);
    expect([daysUntilFull(100, 5), daysUntilFull(100, 0), daysUntilFull(100, null)]).toEqual([null, null, null]);
  });
});

it('sizes are written with three digits at most', () => {
  expect([0, 999, 1_400, 123_456, 1.46e9, 69e9].map(bytesText)).toEqual([
    '0 bytes',
    '999 bytes',
    '1.4 kB',
    '123 kB',
    '1.5 GB',
    '69.0 GB',
  ]);
});
