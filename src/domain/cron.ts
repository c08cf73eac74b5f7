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
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Clocks change their offset at a full quarter of an hour, and by whole quarters. */
const QUARTER_MS = 15 * MINUTE_MS;
/** A time longer than any single change of an offset. */
const SHIFT_MS = 3 * HOUR_MS;
/** The last year that is searched, as in Temporal. */
const LAST_YEAR = 2100;

/**
 * Yields the times after `after` at which a clock in the zone shows a time of the expression, oldest first: a time that the clock
 * skips does not occur, and one that it shows twice occurs twice.
 */
export function* cronTimes(cron: Cron, time_zone: string, after: number): Generator<number> {
  const getOffset = getOffsetLookup(time_zone);
  let quarter = Math.floor(after / QUARTER_MS) * QUARTER_MS;
  for (;;) {
    const wall = new Date(quarter + getOffset(quarter));
    if (wall.getUTCFullYear() > LAST_YEAR) return;
    if (!isMatchingDay(cron, wall)) {
      const rest = nextPossibleDay(cron, wall) - wall.getTime() - SHIFT_MS;
      quarter += Math.max(QUARTER_MS, Math.floor(rest / QUARTER_MS) * QUARTER_MS);
      continue;
    }
    if (cron.hours.has(wall.getUTCHours()))
      for (let minute = 0; minute < 15; minute += 1) {
        const time = quarter + minute * MINUTE_MS;
        if (time > after && cron.minutes.has(wall.getUTCMinutes() + minute)) yield time;
      }
    quarter += QUARTER_MS;
  }
}

/** Returns the next day or, if the month does not match, the next month. */
const nextPossibleDay = ({ months }: Cron, wall: Date): number =>
  months.has(wall.getUTCMonth() + 1)
    ? Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + 1)
    : Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + 1, 1);

/** True if a clock in the zone shows a time of the expression at this time. */
export function isCronTime(cron: Cron, time_zone: string, time: number): boolean {
  const wall = new Date(time + getOffsetLookup(time_zone)(time));
  const in_minute = time % MINUTE_MS === 0 && cron.minutes.has(wall.getUTCMinutes());
  return in_minute && cron.hours.has(wall.getUTCHours()) && isMatchingDay(cron, wall);
}

const isMatchingDay = ({ days, months, weekdays }: Cron, wall: Date): boolean =>
  months.has(wall.getUTCMonth() + 1) && days.has(wall.getUTCDate()) && weekdays.has(wall.getUTCDay());

const WEEK_MS = 7 * DAY_MS;
const MOST_LOOKED_UP = 10_000;
const zones = new Map<string, (time: number) => number>();

/**
 * Returns a function that looks up how far a zone's clocks are ahead of UTC, in milliseconds. A week in which the offset does not
 * change is looked up once.
 */
function getOffsetLookup(time_zone: string): (time: number) => number {
  const known = zones.get(time_zone);
  if (known) return known;
  const lookUp = createOffsetLookup(time_zone);
  const looked_up = new Map<number, number>();
  const getEdgeOffset = (time: number): number => {
    const offset = looked_up.get(time) ?? lookUp(time);
    if (looked_up.size >= MOST_LOOKED_UP) looked_up.clear();
    looked_up.set(time, offset);
    return offset;
  };
  const findSpanOffset = (time: number, length: number): number | null => {
    const first = Math.floor(time / length) * length;
    const offset = getEdgeOffset(first);
    return offset === getEdgeOffset(first + length) ? offset : null;
  };
  const getOffset = (time: number) => findSpanOffset(time, WEEK_MS) ?? findSpanOffset(time, DAY_MS) ?? lookUp(time);
  zones.set(time_zone, getOffset);
  return getOffset;
}

function createOffsetLookup(time_zone: string): (time: number) => number {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: time_zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (time) => {
    const { year, month, day, hour, minute, second } = Object.fromEntries(
      clock.formatToParts(time).map(({ type, value }) => [type, Number(value)]),
    ) as Record<string, number>;
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) - time;
  };
}

const YEAR_MS = 365 * DAY_MS;

/** Returns the offsets that a zone's clocks have in the years around a time. Misses a change that lasts for less than a week. */
export function listOffsets(time_zone: string, now: number): number[] {
  const getOffset = getOffsetLookup(time_zone);
  const found = new Set<number>();
  const first = Math.floor(now / WEEK_MS) * WEEK_MS - YEAR_MS;
  for (let time = first; time < first + 4 * YEAR_MS; time += WEEK_MS) found.add(getOffset(time));
  return [...found].sort((one, other) => one - other);
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
