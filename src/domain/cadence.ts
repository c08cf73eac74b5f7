import { type Cron, cronTimes, isCronTime, listOffsets, parseCron, writeCron } from './cron.ts';

/** A recurring time. Times are milliseconds since 1970, UTC, in whole seconds, as the engine stores them. */
export type Cadence = (Interval | ByCron) & {
  start_at: number;
  end_at: number | null;
};

export interface Interval {
  interval_value: number;
  interval_unit: IntervalUnit;
}

interface ByCron {
  cron: string;
  time_zone: string;
}

type IntervalUnit = 'minutes' | 'hours' | 'days' | 'weeks';

/** A cadence as it is stored. If it has a cron expression, its interval is meaningless. */
export interface StoredCadence {
  interval_value: number;
  interval_unit: string;
  cron: string | null;
  time_zone: string;
  start_at: Date;
  end_at: Date | null;
}

export const parseStoredCadence = ({
  interval_value,
  interval_unit,
  cron,
  time_zone,
  start_at,
  end_at,
}: StoredCadence): Cadence => ({
  ...(cron === null ? { interval_value, interval_unit: interval_unit as IntervalUnit } : { cron, time_zone }),
  start_at: start_at.getTime(),
  end_at: end_at?.getTime() ?? null,
});

const UNIT_MS: Record<IntervalUnit, number> = { minutes: 60_000, hours: 3_600_000, days: 86_400_000, weeks: 604_800_000 };

const toIntervalMs = ({ interval_value, interval_unit }: Interval): number => interval_value * UNIT_MS[interval_unit];

const wholeSecond = (time: number) => Math.floor(time / 1000) * 1000;

/** Yields the due times after `after`, oldest first. */
function* iterateDueTimes(cadence: Cadence, after: number): Generator<number> {
  for (const due of iterateRecurrences(cadence, after)) {
    if (cadence.end_at !== null && due > cadence.end_at) return;
    yield due;
  }
}

/** Yields the recurrences after `after` without regard to the cadence's end. */
function* iterateRecurrences(cadence: Cadence, after: number): Generator<number> {
  const start = wholeSecond(cadence.start_at);
  if ('cron' in cadence) return yield* cronTimes(parseCron(cadence.cron), cadence.time_zone, Math.max(after, start - 1));
  const every = toIntervalMs(cadence);
  for (let due = after < start ? start : start + (Math.floor((after - start) / every) + 1) * every; ; due += every) yield due;
}

/** Returns the first due time after `after`; null if the cadence has ended by then. */
export const findNextDue = (cadence: Cadence, after: number): number | null =>
  iterateDueTimes(cadence, after).next().value ?? null;

interface Span {
  after: number;
  count: number;
  until?: number;
}

/** Returns the next due times after `after` and up to `until`, oldest first; fewer than `count` if the cadence ends. */
export function listNextDue(cadence: Cadence, { after, count, until = Number.POSITIVE_INFINITY }: Span): number[] {
  const due_times: number[] = [];
  for (const due of iterateDueTimes(cadence, after)) {
    if (due_times.length >= count || due > until) break;
    due_times.push(due);
  }
  return due_times;
}

/** Returns the latest due times after `after` and up to `until`, oldest first, at most `limit` of them. */
export function listDueTimes(
  cadence: Cadence,
  { after, until, limit }: { after: number; until: number; limit: number },
): number[] {
  const least = 'cron' in cadence ? UNIT_MS.minutes : toIntervalMs(cadence);
  // The searched span grows, because it is unknown how far back the latest due times reach.
  for (let span = least * limit; ; span *= 2) {
    const due_times = listNextDue(cadence, { after: Math.max(after, until - span), until, count: Number.POSITIVE_INFINITY });
    if (due_times.length >= limit || until - span <= after) return due_times.slice(-limit);
  }
}

/** The number of due times that are compared to find the shortest gap. */
const MOST_COMPARED = 100;

/** Returns the shortest time between two due times from now on; null if there is only one. */
export function shortestGap(cadence: Cadence, now: number): number | null {
  if (!('cron' in cadence)) return toIntervalMs(cadence);
  const times = listNextDue({ ...cadence, end_at: null }, { after: now, count: MOST_COMPARED });
  const gaps = times.slice(1).map((time, index) => time - times[index]!);
  return gaps.length > 0 ? Math.min(...gaps) : null;
}

/** Converts an interval to the engine's form: counted from 1970, with an offset so that the start is one of its times. */
export const toEngineInterval = (cadence: Interval & Pick<Cadence, 'start_at'>): { every: number; offset: number } => {
  const every = toIntervalMs(cadence);
  return { every, offset: wholeSecond(cadence.start_at) % every };
};

/** A cron expression in UTC, and the offset of the zone that it was made for. */
interface UtcCron {
  expression: string;
  comment: string;
}

/** A cadence in the engine's form. */
export type EngineCadence = { intervals: [{ every: number; offset: number }] } | { crons: UtcCron[] };

/**
 * Converts a cadence to the engine's form. The engine gets a cron expression in UTC, once for each offset that the zone's clocks
 * have, because it makes errors on days on which clocks change. The engine then fires at every due time, and at others
 * (`isFiller`).
 */
export const engineCadence = (cadence: Cadence, now: number): EngineCadence =>
  'cron' in cadence
    ? { crons: listOffsets(cadence.time_zone, now).flatMap((offset) => utcCrons(cadence, offset)) }
    : { intervals: [toEngineInterval(cadence)] };

/**
 * True if the engine fires at this time only because it was given a cron expression for several offsets. Manual triggers have
 * other seconds.
 */
export const isFiller = (cadence: Cadence, time: number): boolean =>
  'cron' in cadence && time % UNIT_MS.minutes === 0 && !isCronTime(parseCron(cadence.cron), cadence.time_zone, time);

const DAY_MINUTES = 1_440;

/** Returns cron expressions in UTC for the times that the zone's clocks show: on the same day, or on the one before or after. */
function utcCrons({ cron: text, time_zone }: ByCron, offset_ms: number): UtcCron[] {
  const { minutes, hours, ...cron } = parseCron(text);
  const offset = offset_ms / UNIT_MS.minutes;
  const times = [...hours].flatMap((hour) => [...minutes].map((minute) => hour * 60 + minute - offset));
  return [-1, 0, 1].flatMap((shift) => {
    const of_day = times.filter((time) => Math.floor(time / DAY_MINUTES) === shift).map((time) => time - shift * DAY_MINUTES);
    if (of_day.length === 0) return [];
    const expression = writeCron({
      minutes: new Set(of_day.map((time) => time % 60)),
      hours: new Set(of_day.map((time) => Math.floor(time / 60))),
      ...shiftDays(cron, shift),
    });
    return [{ expression, comment: `${text} ${time_zone}: UTC${offset < 0 ? '' : '+'}${offset / 60}` }];
  });
}

/** The days that can be the last of a month. */
const LAST_DAYS = [28, 29, 30, 31];

/** Shifts the matching days by a day, earlier or later. The result may match more days, never fewer. */
function shiftDays(
  { days, months, weekdays }: Pick<Cron, 'days' | 'months' | 'weekdays'>,
  shift: number,
): Omit<Cron, 'minutes' | 'hours'> {
  if (shift === 0) return { days, months, weekdays };
  const shifted = [...days].flatMap((day) => {
    if (day + shift < 1) return LAST_DAYS;
    return shift > 0 && LAST_DAYS.includes(day) ? [1, day + shift] : [day + shift];
  });
  return {
    days: new Set(shifted.filter((day) => day <= 31)),
    months: new Set([...months].flatMap((month) => [month, ((month + shift + 11) % 12) + 1])),
    weekdays: new Set([...weekdays].map((day) => (day + shift + 7) % 7)),
  };
}
