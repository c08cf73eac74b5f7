import { type Cadence, parseStoredCadence, shortestGap } from '../../domain/cadence.ts';
import { CronFault, findTimeZone, parseCron } from '../../domain/cron.ts';
import { AppError, type FieldError, unprocessable } from '../../domain/errors.ts';

/** The recurrence of a schedule, as a request names it; undefined fields were not sent. */
export interface Recurrence {
  interval_value?: number | null | undefined;
  interval_unit?: string | null | undefined;
  cron?: string | null | undefined;
  time_zone?: string | undefined;
  start_at?: string | undefined;
  end_at?: string | null | undefined;
}

/** A recurrence in which every field has a value. */
interface WholeRecurrence {
  interval_value: number | null;
  interval_unit: string | null;
  cron: string | null;
  time_zone: string;
  start_at: string;
  end_at: string | null;
}

/** Returns only the recurrence of a request's fields. */
export const pickRecurrence = ({ interval_value, interval_unit, cron, time_zone, start_at, end_at }: Recurrence) => ({
  interval_value,
  interval_unit,
  cron,
  time_zone,
  start_at,
  end_at,
});

const NONE = { interval_value: null, interval_unit: null, cron: null };
const createError = (path: string, message: string): FieldError => ({ path, message });

/** Returns the recurrence after a change. A cron expression replaces an interval, and an interval a cron expression. */
export function mergeRecurrence(update: Recurrence, before: Partial<WholeRecurrence>): WholeRecurrence {
  const changes = Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined)) as Recurrence;
  const replaced = [
    ...(changes.cron ? ['interval_value', 'interval_unit'] : []),
    ...((changes.interval_value ?? changes.interval_unit) ? ['cron'] : []),
  ];
  const rest = Object.fromEntries(Object.entries(before).filter(([name]) => !replaced.includes(name)));
  const now = new Date().toISOString();
  return { ...NONE, time_zone: 'UTC', start_at: now, end_at: null, ...rest, ...changes } as WholeRecurrence;
}

/** Returns the recurrence to store, with the canonical spelling of its time zone; throws if it is not valid. */
export function checkRecurrence(recurrence: WholeRecurrence): WholeRecurrence {
  const time_zone = findTimeZone(recurrence.time_zone);
  const errors = [
    ...listFormErrors(recurrence),
    ...(time_zone === null
      ? [createError('time_zone', 'Name a time zone of the IANA database, such as Europe/Berlin or UTC')]
      : []),
  ];
  if (errors.length > 0) throw unprocessable(errors);
  const whole = { ...recurrence, time_zone: time_zone! };
  const { start_at, end_at } = whole;
  if (end_at !== null && Date.parse(end_at) <= Date.parse(start_at))
    throw unprocessable([createError('end_at', 'Must be after start_at')]);
  return whole;
}

function listFormErrors({ interval_value, interval_unit, cron }: WholeRecurrence): FieldError[] {
  const has_interval = interval_value !== null || interval_unit !== null;
  if (cron !== null && has_interval) return [createError('cron', 'Send either cron, or interval_value and interval_unit')];
  if (cron !== null) return listCronErrors(cron);
  if (!has_interval) return [createError('interval_value', 'Send interval_value and interval_unit, or cron')];
  if (interval_value === null) return [createError('interval_value', 'Required with interval_unit')];
  return interval_unit === null ? [createError('interval_unit', 'Required with interval_value')] : [];
}

function listCronErrors(cron: string): FieldError[] {
  try {
    parseCron(cron);
    return [];
  } catch (error) {
    if (error instanceof CronFault) return [createError('cron', error.message)];
    throw error;
  }
}

/** Throws unless the jitter keeps the order of the runs. */
export function refuseLongJitter(jitter_seconds: number, recurrence: WholeRecurrence): void {
  const gap = shortestGap(parseCadence(recurrence), Date.now());
  if (jitter_seconds > 0 && gap !== null && jitter_seconds * 1000 >= gap)
    throw unprocessable([createError('jitter_seconds', `Must be less than the ${gap / 1000} seconds between two runs`)]);
}

export const parseCadence = (recurrence: WholeRecurrence): Cadence =>
  parseStoredCadence({
    ...recurrence,
    interval_value: recurrence.interval_value ?? 0,
    interval_unit: recurrence.interval_unit ?? '',
    start_at: new Date(recurrence.start_at),
    end_at: recurrence.end_at === null ? null : new Date(recurrence.end_at),
  });

/** Returns the reason why a schedule of an import is refused, as a sentence; null if it is accepted. */
export function findRecurrenceError(item: Recurrence & { jitter_seconds: number }): string | null {
  try {
    refuseLongJitter(item.jitter_seconds, checkRecurrence(mergeRecurrence(pickRecurrence(item), {})));
    return null;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.errors!.map(({ path, message }) => `${path}: ${message}`).join('; ');
  }
}
