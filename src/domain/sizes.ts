/** The size of an installation at one time, in bytes; null: unknown. */
export interface SizeSample {
  at: string;
  database: number;
  /** The size of the embedded engine's file. */
  engine: number | null;
  /** The size of everything in the home folder, including the embedded servers. */
  home: number | null;
  /** The free space on the disk of the home folder. */
  disk_free: number | null;
}

type Measure = Exclude<keyof SizeSample, 'at'>;

const DAY_MS = 24 * 3_600_000;
/** The shortest time that is extrapolated to a day: a shorter one may only show a start. Samples are an hour apart. */
const LEAST_MS = 0.5 * 3_600_000;

/**
 * Returns by how many bytes a day a measure changes, from the first sample that has it to the last; null if they are not far
 * enough apart.
 */
export function changePerDay(samples: readonly SizeSample[], measure: Measure): number | null {
  const measurements = samples.flatMap(({ at, [measure]: bytes }) => (bytes === null ? [] : [{ time: Date.parse(at), bytes }]));
  const [first, last] = [measurements[0], measurements.at(-1)];
  if (!first || !last || last.time - first.time < LEAST_MS) return null;
  return ((last.bytes - first.bytes) / (last.time - first.time)) * DAY_MS;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** Formats bytes, such as `1.4 GB`. */
export function bytesText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, Math.abs(bytes))) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || Math.abs(value) >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

/** Formats a change, such as `12 MB more a day`. */
export function changeText(per_day: number | null): string {
  if (per_day === null) return 'growth unknown yet (it takes two hourly samples)';
  return `${bytesText(Math.abs(per_day))} ${per_day < 0 ? 'less' : 'more'} a day`;
}

/** Returns the days until the disk is full at this rate; null if it is not getting fuller, or the rate is unknown. */
export function daysUntilFull(disk_free: number, change_per_day: number | null): number | null {
  return change_per_day === null || change_per_day >= 0 ? null : disk_free / -change_per_day;
}
