import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Cadence,
  engineCadence,
  findNextDue,
  isFiller,
  listDueTimes,
  listNextDue,
  shortestGap,
} from '../../../src/domain/cadence.ts';
import { cronTimes, findTimeZone, isCronTime, listOffsets, parseCron, writeCron } from '../../../src/domain/cron.ts';

const at = (text: string) => Date.parse(text);
const byCron = (cron: string, time_zone = 'UTC', start = '2027-01-01T00:00:00Z', end?: string): Cadence => ({
  ...{ cron, time_zone, start_at: at(start), end_at: end ? at(end) : null },
});
/** The next due times, as UTC without what does not differ. */
const due = (cadence: Cadence, count: number, after = '2027-01-01T00:00:00Z') =>
  listNextDue(cadence, { after: at(after) - 1, count }).map((time) => new Date(time).toISOString().slice(0, 16));

describe('a cron expression', () => {
  it.each([
    ['0 9 * * *', '0 9 * * *'],
    ['  */20  8-10 1,15 jan-mar MON-Friday ', '0,20,40 8,9,10 1,15 1,2,3 1,2,3,4,5'],
    ['5/25 22-23 31/1 Octo 7', '5,30,55 22,23 31 10 0'],
    ['1-30/10,59 0 */10 */6 0-7', '1,11,21,59 0 1,11,21,31 1,7 *'],
    ['* * * * sun,6', '* * * * 0,6'],
    ['@yearly', '0 0 1 1 *'],
    ['@weekly', '0 0 * * 0'],
    ['@hourly', '0 * * * *'],
  ])('%s names the values %s', (text, values) => {
    expect(writeCron(parseCron(text))).toBe(values);
  });

  it.each([
    ['0 9 * *', /^Write five fields/],
    ['0 0 9 * * *', /^Write five fields/],
    ['@every 5m', /^@every 5m is none of @yearly/],
    ['@noon', /^@noon is none of @yearly/],
    ['TZ=UTC 0 9 * * *', /^Name the time zone in time_zone/],
    ['60 9 * * *', /^The minute 60 is not from 0 to 59$/],
    ['0 24 * * *', /^The hour 24/],
    ['0 0 0 * *', /^The day of month 0/],
    ['0 0 * 13 *', /^The month 13 is not from 1 to 12 and no name of one$/],
    ['0 0 * * 8', /^The day of week 8/],
    ['0 0 * * mo', /^The day of week mo/],
    ['0 0 * * monx', /^The day of week monx/],
    ['0 10-8 * * *', /^The hour 10-8 ends before it begins$/],
    ['*/0 * * * *', /^The minute \*\/0 is none of the forms/],
    ['*-5 * * * *', /^The minute \*-5 is none of the forms/],
    ['0 0 31 4,6,2 *', /^No month that it names has such a day$/],
    ['0 0 30,31 2 *', /^No month/],
    ['0 9 ? * *', /^The day of month \? is none of the forms/],
    ['0 9 L * *', /^The day of month L is not/],
    ['0 9 1,,2 * *', /^The day of month {2}is none of the forms/],
    ['0 9 * * 1#2', /^The day of week 1#2 is none of the forms/],
  ])('%s is refused: %s', (text, reason) => {
    expect(() => parseCron(text)).toThrow(reason);
  });
});

describe('what is due by a cron expression', () => {
  it('is each time that the clock of its zone shows, when day of month and day of week both match', () => {
    expect(due(byCron('30 9,17 * * *', 'Asia/Kolkata'), 3)).toEqual(['2027-01-01T04:00', '2027-01-01T12:00', '2027-01-02T04:00']);
    expect(due(byCron('0 6 1-7 * mon'), 3)).toEqual(['2027-01-04T06:00', '2027-02-01T06:00', '2027-03-01T06:00']);
    expect(due(byCron('0 0 29 2 *'), 2)).toEqual(['2028-02-29T00:00', '2032-02-29T00:00']);
    expect(due(byCron('59 23 31 12 *'), 1, '2099-12-31T23:59:01Z')).toEqual(['2100-12-31T23:59']);
  });

  it.each([
    ['Europe/Berlin', '30 2 * * *', '2027-03-27', ['2027-03-27T01:30', '2027-03-29T00:30']],
    [
      'Europe/Berlin',
      '30 2 * * *',
      '2027-10-30',
      ['2027-10-30T00:30', '2027-10-31T00:30', '2027-10-31T01:30', '2027-11-01T01:30'],
    ],
    ['Europe/Berlin', '30 1 * * *', '2027-10-31', ['2027-11-01T00:30']],
    ['America/New_York', '30 1 7 11 *', '2027-11-07', ['2027-11-07T05:30', '2027-11-07T06:30', '2028-11-07T06:30']],
    ['America/New_York', '*/30 2 * * sun', '2027-03-14', ['2027-03-21T06:00']],
    ['Australia/Lord_Howe', '45 1 * * *', '2027-04-03T14:00', ['2027-04-03T14:45', '2027-04-03T15:15', '2027-04-04T15:15']],
    ['Australia/Lord_Howe', '15 2 * * *', '2027-10-02', ['2027-10-03T15:15']],
    ['America/Havana', '0 12 * * sun', '2027-03-13', ['2027-03-14T16:00']],
    ['America/Havana', '0 0 * * *', '2027-03-13T06:00', ['2027-03-15T04:00']],
  ])('in %s, %s from %s skips what the clock skips, and repeats what it repeats', (zone, cron, from, times) => {
    const after = from.includes('T') ? `${from}:00Z` : `${from}T00:00:00Z`;
    expect(due(byCron(cron, zone), times.length, after)).toEqual(times);
  });

  const fields = (least: number, most: number) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min: least, max: most }).map(String),
      fc.integer({ min: 1, max: most }).map((step) => `*/${step}`),
      fc.uniqueArray(fc.integer({ min: least, max: most }), { minLength: 1, maxLength: 3 }).map((values) => values.join(',')),
    );
  const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const DAYS_MS = 2 * 86_400_000;
  const CHANGES = [
    ['Europe/Berlin', '2027-03-28T01:00Z'],
    ['Europe/Berlin', '2027-10-31T01:00Z'],
    ['America/New_York', '2027-11-07T06:00Z'],
    ['America/Havana', '2027-03-14T05:00Z'],
    ['America/Santiago', '2027-09-05T04:00Z'],
    ['Australia/Lord_Howe', '2027-04-03T15:00Z'],
    ['Australia/Lord_Howe', '2027-10-02T15:30Z'],
    ['Pacific/Apia', '2011-12-30T10:00Z'],
  ] as const;

  it.each(CHANGES)('in %s around %s is what its clock shows, minute by minute', (timeZone, change) => {
    const clock = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', minute: 'numeric', hour: 'numeric', day: 'numeric', month: 'numeric', weekday: 'short' },
    } as Intl.DateTimeFormatOptions);
    const minutes = Array.from({ length: (2 * DAYS_MS) / 60_000 }, (_, minute) => at(change) - DAYS_MS + minute * 60_000).map(
      (time) => ({ time, ...Object.fromEntries(clock.formatToParts(time).map(({ type, value }) => [type, value])) }),
    ) as unknown as ({ time: number } & Record<'minute' | 'hour' | 'day' | 'month' | 'weekday', string>)[];
    const days = fc.constantFrom('*', '*', '*/2', '28-31', '1-7');
    const weekdays = fc.constantFrom('*', '*', 'sat,sun', 'mon');
    fc.assert(
      fc.property(fields(0, 59), fields(0, 23), days, weekdays, (minute, hour, day, weekday) => {
        const cron = parseCron(`${minute} ${hour} ${day} * ${weekday}`);
        const shown = minutes.filter(
          (it) =>
            cron.minutes.has(Number(it.minute)) &&
            cron.hours.has(Number(it.hour)) &&
            cron.days.has(Number(it.day)) &&
            cron.weekdays.has(WEEKDAYS.indexOf(it.weekday)),
        );
        const found: number[] = [];
        for (const time of cronTimes(cron, timeZone, minutes[0]!.time - 1)) {
          if (time > minutes.at(-1)!.time) break;
          found.push(time);
        }
        expect(found).toEqual(shown.map(({ time }) => time));
        const looked_at = [...shown.slice(0, 5), ...minutes.slice(0, 5)].map(({ time }) => time);
        const matching = looked_at.filter((time) => isCronTime(cron, timeZone, time));
        expect(matching).toEqual(looked_at.filter((time) => found.includes(time)));
      }),
      { numRuns: 12 },
    );
  });

  it('lies between its start, to the second, and its end, both inclusive', () => {
    const cadence = byCron('0 * * * *', 'UTC', '2027-01-01T10:00:00.700Z', '2027-01-01T12:00:00Z');
    expect(due(cadence, 9, '2026-01-01T00:00:00Z')).toEqual(['2027-01-01T10:00', '2027-01-01T11:00', '2027-01-01T12:00']);
    expect(findNextDue(cadence, at('2027-01-01T12:00:00Z'))).toBeNull();
    expect(due(byCron('0 * * * *', 'UTC', '2027-01-01T10:00:01Z'), 1, '2026-01-01T00:00:00Z')).toEqual(['2027-01-01T11:00']);
  });

  it('in a span is the latest, however rare', () => {
    const between = (cron: string, limit: number) =>
      listDueTimes(byCron(cron), { after: at('2027-01-01T00:00:00Z'), until: at('2029-02-01T00:00:00Z'), limit }).map((time) =>
        new Date(time).toISOString().slice(0, 16),
      );
    expect(between('0 0 1 1 *', 9)).toEqual(['2028-01-01T00:00', '2029-01-01T00:00']);
    expect(between('0 0 1 1 *', 1)).toEqual(['2029-01-01T00:00']);
    expect(between('* * * * *', 2)).toEqual(['2029-01-31T23:59', '2029-02-01T00:00']);
  });

  it('is as close together as its shortest gap', () => {
    const gap = (cron: string) => shortestGap(byCron(cron), at('2027-01-01T00:00:00Z'));
    expect(gap('0 9,10 * * mon')).toBe(3_600_000);
    expect(gap('* * * * *')).toBe(60_000);
    expect(shortestGap({ interval_value: 3, interval_unit: 'minutes', start_at: 0, end_at: null }, 0)).toBe(180_000);
    expect(shortestGap(byCron('0 0 29 2 *'), at('2097-01-01T00:00:00Z'))).toBeNull();
  });
});

describe('what the engine is given for a cron expression', () => {
  const given = (cron: string, zone: string) => {
    const cadence = engineCadence(byCron(cron, zone), at('2027-01-01T00:00:00Z'));
    return 'crons' in cadence ? cadence.crons.map(({ expression }) => expression) : [];
  };

  it.each([
    ['30 7 * * mon-fri', 'UTC', ['30 7 * * 1,2,3,4,5']],
    ['30 7 * * mon-fri', 'Europe/Berlin', ['30 6 * * 1,2,3,4,5', '30 5 * * 1,2,3,4,5']],
    ['0 0 1 1 *', 'Asia/Kolkata', ['30 18 28,29,30,31 1,12 *']],
    ['0 22 28,31 12 6', 'America/New_York', ['0 3 1,29 1,12 0', '0 2 1,29 1,12 0']],
    ['0 0 15 * 0', 'Europe/London', ['0 0 15 * 0', '0 23 14 * 6']],
  ])('%s in %s is in UTC, for each offset of the zone', (cron, zone, expressions) => {
    expect(given(cron, zone)).toEqual(expressions);
  });

  it('names the expression and the zone', () => {
    expect(engineCadence(byCron('0 9 * * *', 'Asia/Kolkata'), at('2027-01-01T00:00:00Z'))).toEqual({
      crons: [{ expression: '30 3 * * *', comment: '0 9 * * * Asia/Kolkata: UTC+5.5' }],
    });
  });

  it('includes each due time; the other times are fillers, and a trigger at another second is not', () => {
    const cadence = byCron('30 7 * * *', 'Europe/Berlin');
    expect(isFiller(cadence, at('2027-01-15T06:30:00Z'))).toBe(false);
    expect(isFiller(cadence, at('2027-01-15T05:30:00Z'))).toBe(true);
    expect(isFiller(cadence, at('2027-01-15T05:30:01Z'))).toBe(false);
    expect(isFiller({ interval_value: 1, interval_unit: 'hours', start_at: 0, end_at: null }, 60_000)).toBe(false);
    for (const [cron, zone] of [
      ['59 23 31 * *', 'America/Los_Angeles'],
      ['5 0 1 */2 mon', 'Pacific/Auckland'],
      ['15 1 * * *', 'Asia/Kathmandu'],
    ]) {
      const wanted = listNextDue(byCron(cron!, zone), { after: at('2027-01-01T00:00:00Z'), count: 20 });
      const merged = given(cron!, zone!).flatMap((utc) => listNextDue(byCron(utc), { after: wanted[0]! - 1, count: 200 }));
      expect(wanted.filter((time) => !merged.includes(time))).toEqual([]);
    }
  });

  it('has the offsets of summer and winter, and of what a zone changes now and then', () => {
    const hours = (zone: string) => listOffsets(zone, at('2026-11-23T00:00:00Z')).map((offset) => offset / 3_600_000);
    expect(hours('Europe/Berlin')).toEqual([1, 2]);
    expect(hours('Africa/Casablanca')).toEqual([0, 1]);
    expect(hours('Australia/Lord_Howe')).toEqual([10.5, 11]);
    expect(hours('UTC')).toEqual([0]);
  });
});

it('a time zone has the spelling of its database, and no offset is one', () => {
  expect(['europe/berlin', 'Europe/Berlin', 'US/Pacific', 'utc', '+02:00', 'Mars/Phobos', 'Local', ''].map(findTimeZone)).toEqual(
    [...['Europe/Berlin', 'Europe/Berlin', 'US/Pacific', 'UTC', null, null, null, null]],
  );
});
