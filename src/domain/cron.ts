import { Cron as Job } from 'croner';

/** A cron expression of five fields, as sets of the values that match. */
export interface Cron {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
}

const ALIASES: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

interface FieldRule {
  name: string;
  min: number;
  max: number;
  /** The names of the values, beginning with the one for `min`. */
  names?: readonly string[];
}

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const SUNDAY_TOO = 7;

const FIELDS: readonly FieldRule[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: MONTHS },
  { name: 'day of week', min: 0, max: SUNDAY_TOO, names: WEEKDAYS },
];

/** The reason a cron expression is rejected, as a sentence. */
export class CronFault extends Error {}

/** Parses five fields or a name such as `@daily`, in the syntax of Temporal; throws CronFault otherwise. */
export function parseCron(text: string): Cron {
  const expression = text.trim();
  const parts = (ALIASES[expression] ?? expression).split(/\s+/);
  if (expression.startsWith('@') && parts.length !== FIELDS.length)
    throw new CronFault(`${expression} is none of ${Object.keys(ALIASES).join(', ')}`);
  if (/^(CRON_)?TZ=/.test(expression)) throw new CronFault('Name the time zone in time_zone instead');
  if (parts.length !== FIELDS.length)
    throw new CronFault('Write five fields: minute, hour, day of month, month, day of week, such as 30 7 * * MON-FRI');
  const [minutes, hours, days, months, weekdays] = FIELDS.map((rule, index) => parseValues(parts[index]!, rule));
  if (![...months!].some((month) => [...days!].some((day) => day <= LONGEST[month - 1]!)))
    throw new CronFault('No month that it names has such a day');
  return {
    minutes: minutes!,
    hours: hours!,
    days: days!,
    months: months!,
    weekdays: new Set([...weekdays!].map((day) => day % SUNDAY_TOO)),
  };
}

/** The most days that each month can have. */
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const RANGE = /^(\*|[a-z\d]+)(?:-([a-z\d]+))?(?:\/(\d+))?$/i;

function parseValues(text: string, rule: FieldRule): Set<number> {
  const found = new Set<number>();
  for (const part of text.split(',')) {
    const [, from = '', to, step] = RANGE.exec(part) ?? [];
    const every = Number(step ?? 1);
    if (from === '' || every < 1 || (from === '*' && to !== undefined))
      throw new CronFault(`The ${rule.name} ${part} is none of the forms *, 5, 1-5, */10, 1-30/5 or a list of them`);
    const first = from === '*' ? rule.min : parseValue(from, rule);
    const last = to === undefined ? (from === '*' || step !== undefined ? rule.max : first) : parseValue(to, rule);
    if (last < first) throw new CronFault(`The ${rule.name} ${part} ends before it begins`);
    for (let value = first; value <= last; value += every) found.add(value);
  }
  return found;
}

/** Parses a number, or a name by at least its first three letters. */
function parseValue(text: string, { name, min, max, names = [] }: FieldRule): number {
  const named = text.length < 3 ? -1 : names.findIndex((full) => full.startsWith(text.toLowerCase()));
  const value = named < 0 ? Number(text) : min + named;
  if (!Number.isInteger(value) || value < min || value > max)
    throw new CronFault(`The ${name} ${text} is not from ${min} to ${max}${names.length > 0 ? ' and no name of one' : ''}`);
  return value;
}

/** Formats the expression with every value listed. */
export function writeCron({ minutes, hours, days, months, weekdays }: Cron): string {
  const fields = [minutes, hours, days, months, weekdays].map((values, index) => {
    const { min, max, names } = FIELDS[index]!;
    const all = names?.length ?? max - min + 1;
    return values.size === all ? '*' : [...values].sort((one, other) => one - other).join(',');
  });
  return fields.join(' ');
}

const MINUTE_MS = 60_000;
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;
/** No time is searched from this year on, as in Temporal. */
const END_YEAR = 2101;

/**
 * Creates the job of an expression. Its seconds are written as a step: Croner moves a job with single values out of an hour that the clock
 * skips, and runs it once in an hour that the clock repeats. Temporal does neither, nor does Croner with a step.
 */
const createJob = (cron: Cron, time_zone: string): Job =>
  new Job(`*/60 ${writeCron(cron)}`, {
    mode: '6-part',
    domAndDow: true,
    paused: true,
    timezone: time_zone,
    stopAt: `${END_YEAR}-01-01T00:00:00`,
  });

/**
 * Yields the times after `after` at which a clock in the zone shows a time of the expression, oldest first: a time that the clock
 * skips does not occur, and one that it shows twice occurs twice.
 */
export function* cronTimes(cron: Cron, time_zone: string, after: number): Generator<number> {
  const job = createJob(cron, time_zone);
  for (let next = job.nextRun(new Date(after)); next; next = job.nextRun(next)) yield next.getTime();
}

/** True if a clock in the zone shows a time of the expression at this time. */
export const isCronTime = (cron: Cron, time_zone: string, time: number): boolean =>
  time % MINUTE_MS === 0 && createJob(cron, time_zone).match(new Date(time));

/** Returns the offsets that a zone's clocks have in the years around a time. Misses a change that lasts for less than a week. */
export function listOffsets(time_zone: string, now: number): number[] {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone: time_zone, timeZoneName: 'longOffset' });
  const first = Math.floor(now / WEEK_MS) * WEEK_MS - 52 * WEEK_MS;
  const weeks = Array.from({ length: 4 * 52 }, (_, week) => first + week * WEEK_MS);
  return [...new Set(weeks.map((time) => readOffset(clock, time)))].sort((one, other) => one - other);
}

/** Returns how far the clock is ahead of UTC, in milliseconds. It shows the offset as `GMT`, or such as `GMT+05:30`. */
function readOffset(clock: Intl.DateTimeFormat, time: number): number {
  const shown = clock.formatToParts(time).find(({ type }) => type === 'timeZoneName')!.value;
  const [, sign, hours = 0, minutes = 0] = /^GMT(?:([+-])(\d+):(\d+))?/.exec(shown)!;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
}

/** Returns the IANA name of a time zone in its own spelling; null if there is none. */
export function findTimeZone(text: string): string | null {
  // Intl accepts offsets such as +02:00 as zones; Temporal does not.
  if (!/^[a-z]/i.test(text)) return null;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch {
    return null;
  }
}
