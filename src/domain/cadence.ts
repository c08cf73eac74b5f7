/** When something recurs. Times are milliseconds since 1970, UTC, in whole seconds, as the engine stores them. */
export interface Cadence {
  interval_value: number;
  interval_unit: IntervalUnit;
  start_at: number;
  end_at: number | null;
}

type IntervalUnit = 'minutes' | 'hours' | 'days' | 'weeks';

/** A cadence as it is stored. */
export interface StoredCadence {
  interval_value: number;
  interval_unit: string;
  start_at: Date;
  end_at: Date | null;
}

export const cadenceOf = ({ interval_value, interval_unit, start_at, end_at }: StoredCadence): Cadence => ({
  interval_value,
  interval_unit: interval_unit as IntervalUnit,
  start_at: start_at.getTime(),
  end_at: end_at?.getTime() ?? null,
});

const UNIT_MS: Record<IntervalUnit, number> = { minutes: 60_000, hours: 3_600_000, days: 86_400_000, weeks: 604_800_000 };

const intervalOf = ({ interval_value, interval_unit }: Pick<Cadence, 'interval_value' | 'interval_unit'>): number =>
  interval_value * UNIT_MS[interval_unit];

const wholeSecond = (time: number) => Math.floor(time / 1000) * 1000;

/** The first due time after `after`; null when the cadence has ended by then. */
export function nextDue(cadence: Cadence, after: number): number | null {
  const every = intervalOf(cadence);
  const start = wholeSecond(cadence.start_at);
  const due = after < start ? start : start + (Math.floor((after - start) / every) + 1) * every;
  return cadence.end_at !== null && due > cadence.end_at ? null : due;
}

/** Due times after `after` and up to `until`, oldest first; at most `limit` of them, the latest. */
export function dueBetween(cadence: Cadence, { after, until, limit }: { after: number; until: number; limit: number }): number[] {
  const every = intervalOf(cadence);
  const skipped = Math.max(after, until - every * limit);
  const found: number[] = [];
  for (let due = nextDue(cadence, skipped); due !== null && due <= until; due = nextDue(cadence, due)) found.push(due);
  return found;
}

/** The interval in the engine's form: counted from 1970, with an offset so that the start is one of its times. */
export const phaseOf = (cadence: Cadence): { every: number; offset: number } => {
  const every = intervalOf(cadence);
  return { every, offset: wholeSecond(cadence.start_at) % every };
};
