export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '—';
  // Each limit is where the smaller unit would be rounded up to a whole larger one.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const count = (value: number) => value.toLocaleString('en');

/** US dollars: cents, and five digits below one cent. A sum that is not zero never looks like zero. */
export function money(value: number): string {
  if (value === 0) return '$0';
  if (value < 0.000005) return '<$0.00001';
  return `$${value.toFixed(value < 0.01 ? 5 : 2)}`;
}

/** `1 tool`, `2 tools`. */
export const counted = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Each unit in seconds, and how many of it are shown before the next one. */
const UNITS: [Intl.RelativeTimeFormatUnit, { size: number; most: number }][] = [
  ['minute', { size: 60, most: 60 }],
  ['hour', { size: 3_600, most: 24 }],
  ['day', { size: 86_400, most: Number.POSITIVE_INFINITY }],
];

/** `in 5 minutes`, `yesterday`. */
export function distance(at: string, now = Date.now()): string {
  const seconds = (Date.parse(at) - now) / 1000;
  if (Math.abs(seconds) < 60) return seconds > 5 ? 'in under a minute' : 'just now';
  const [unit, { size }] = UNITS.find(([, it]) => Math.abs(Math.round(seconds / it.size)) < it.most)!;
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(Math.round(seconds / size), unit);
}

const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const MINUTE: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' };
const MOMENT: Intl.DateTimeFormatOptions = { ...MINUTE, second: '2-digit', fractionalSecondDigits: 3 };

const spelled = (at: Date, options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', options).format(at);

/** Day and minute with the zone; the year only if it is not the present one. */
export function localMinute(iso: string, now = new Date()): string {
  const at = new Date(iso);
  const sameYear = at.getFullYear() === now.getFullYear();
  return spelled(at, { ...DAY, ...(sameYear ? {} : { year: 'numeric' }), ...MINUTE });
}

/** The time of day, to the millisecond. */
export const localMoment = (iso: string) => spelled(new Date(iso), MOMENT);

/** The browser's time zone at the given time, which decides about daylight saving. */
export const zoneOf = (at: Date) =>
  new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(at).find(({ type }) => type === 'timeZoneName')
    ?.value;
