import { describe, expect, it } from 'vitest';
import { count, counted, distance, duration, localMinute, localMoment, money, zoneOf } from '../../src/dashboard/ui/format.ts';
import { parsedJson, pretty } from '../../src/dashboard/ui/json.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('a duration', () => {
  it.each([
    [null, '—'],
    [undefined, '—'],
    [0, '0 ms'],
    [0.4, '0 ms'],
    [999, '999 ms'],
    [999.4, '999 ms'],
    [999.5, '1.0 s'],
    [1_000, '1.0 s'],
    [59_949, '59.9 s'],
    [59_950, '1 min 0 s'],
    [59_999, '1 min 0 s'],
    [MINUTE, '1 min 0 s'],
    [90 * SECOND, '1 min 30 s'],
    [119_499, '1 min 59 s'],
    [119_500, '2 min 0 s'],
    [HOUR - 501, '59 min 59 s'],
    [HOUR - 500, '1 h 0 min'],
    [HOUR, '1 h 0 min'],
    [25 * HOUR + 61 * SECOND, '25 h 1 min'],
  ])('of %s ms', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('never shows a unit that is full', () => {
    const shown = Array.from({ length: 14_400 }, (_, index) => duration(index * 500 + (index % 500)));
    expect(shown.filter((text) => /\b(1000 ms|60\.0 s|60 s|60 min)/.test(text))).toEqual([]);
  });
});

describe('a number', () => {
  it.each([
    [0, '$0'],
    [0.000001, '<$0.00001'],
    [0.0000049, '<$0.00001'],
    [0.000005, '$0.00001'],
    [0.00123, '$0.00123'],
    [0.009, '$0.00900'],
    [0.01, '$0.01'],
    [0.999, '$1.00'],
    [12.345, '$12.35'],
    [1234, '$1234.00'],
  ])('of dollars: %d', (value, text) => {
    expect(money(value)).toBe(text);
  });
  it.each([
    [0, '0', '0 tools'],
    [1, '1', '1 tool'],
    [2, '2', '2 tools'],
    [1_234_567, '1,234,567', '1234567 tools'],
  ])('of things: %d', (number, alone, with_noun) => {
    expect([count(number), counted(number, 'tool')]).toEqual([alone, with_noun]);
  });
});

describe('a time', () => {
  const NOW = Date.UTC(2026, 5, 15, 12);
  const two = (number: number) => String(number).padStart(2, '0');
  /** Hours and minutes as the zone of this machine has them. */
  const clock = (at: Date) => `${two(at.getHours())}:${two(at.getMinutes())}`;
  const zone = (at: Date) => at.toLocaleTimeString('en-GB', { timeZoneName: 'short' }).split(' ')[1];

  it.each([
    [0, 'just now'],
    [5 * SECOND, 'just now'],
    [6 * SECOND, 'in under a minute'],
    [59 * SECOND, 'in under a minute'],
    [-59 * SECOND, 'just now'],
    [-MINUTE, '1 minute ago'],
    [MINUTE, 'in 1 minute'],
    [90 * SECOND, 'in 2 minutes'],
    [-59.4 * MINUTE, '59 minutes ago'],
    [-59.6 * MINUTE, '1 hour ago'],
    [HOUR, 'in 1 hour'],
    [-23.4 * HOUR, '23 hours ago'],
    [-23.6 * HOUR, 'yesterday'],
    [DAY, 'tomorrow'],
    [-40 * DAY, '40 days ago'],
  ])('at a distance of %d ms', (ms, text) => {
    expect(distance(new Date(NOW + ms).toISOString(), NOW)).toBe(text);
  });

  it('is at a distance from the present', () => {
    expect(distance(new Date(Date.now() - 2 * HOUR).toISOString())).toBe('2 hours ago');
    expect(localMinute(new Date().toISOString())).not.toMatch(/\b20\d\d\b/);
  });

  it('is shown in the zone of the reader, with its year only if that is another', () => {
    const june = new Date('2026-06-15T10:05:06.789Z');
    const december = new Date('2025-12-15T10:05:00Z');
    expect(localMinute(june.toISOString(), new Date(NOW))).toBe(`15 Jun, ${clock(june)} ${zone(june)}`);
    expect(localMinute(december.toISOString(), new Date(NOW))).toBe(`15 Dec 2025, ${clock(december)} ${zone(december)}`);
    expect(localMoment(june.toISOString())).toBe(`${clock(june)}:06.789 ${zone(june)}`);
    expect([june, december].map(zoneOf)).toEqual([june, december].map(zone));
  });
});

describe('JSON that people read', () => {
  it.each<[unknown, string]>([
    [{ a: 1 }, '{\n  "a": 1\n}'],
    ['{"a":1}', '{\n  "a": 1\n}'],
    [' [1]', '[\n  1\n]'],
    ['{"a":', '{"a":'],
    ['12', '12'],
    ['"x"', '"x"'],
    ['say {"a":1}', 'say {"a":1}'],
    [undefined, ''],
    [null, 'null'],
    [1, '1'],
  ])('%j', (value, text) => {
    expect(pretty(value)).toBe(text);
  });

  it('is parsed, or refused with the reason', () => {
    expect(parsedJson('[1]')).toEqual({ value: [1] });
    expect(parsedJson('[')).toEqual({ wrong: expect.stringMatching(/^Not valid JSON: .+/) });
  });
});
