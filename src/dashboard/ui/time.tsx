import { formatDistance } from './figures.ts';

const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const MINUTE: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' };
const TITLE: Intl.DateTimeFormatOptions = { ...DAY, year: 'numeric', ...MINUTE, second: '2-digit' };
const MOMENT: Intl.DateTimeFormatOptions = { ...MINUTE, second: '2-digit', fractionalSecondDigits: 3 };

const formatDate = (at: string | Date, options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', options).format(new Date(at));

/** Returns the browser's time zone at the given time, on which daylight saving depends. */
export const formatZone = (at: Date) =>
  new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(at).find(({ type }) => type === 'timeZoneName')
    ?.value;

/** Returns the IANA name of the browser's time zone. */
export const getOwnZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

const MARKS = { hour: { hour: '2-digit', minute: '2-digit' }, day: DAY } as const;

/** Formats a local hour or day as briefly as the mark of an axis requires. */
export const formatAxisMark = (at: string, interval: keyof typeof MARKS) => formatDate(at, MARKS[interval]);

/** Formats the local hour in which a time is, such as `14:00`. */
export const formatHour = (at: string) => formatDate(at, { hour: '2-digit', minute: '2-digit' });

interface WhenProps {
  at: string | null | undefined;
  none?: string;
  /** True if the moment itself is shown, as after "until". */
  exact?: boolean;
  /** True if the moment is shown and its distance from now too. */
  relative?: boolean;
  /** An IANA time zone other than the browser's, in which the moment is shown. */
  zone?: string;
}

const WEEK_MS = 7 * 24 * 3_600_000;
const isNear = (at: string) => Math.abs(Date.parse(at) - Date.now()) < WEEK_MS;

/** Formats a time with its zone, by default the browser's, and with its year if that is not the current one. */
export function formatTime(at: string, zone?: string): string {
  const year: Intl.DateTimeFormatOptions = new Date(at).getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' };
  return formatDate(at, { ...DAY, ...year, ...MINUTE, ...(zone && { timeZone: zone }) });
}

/** Shows how far away a time is, or the moment itself if that is a week or more. The title has the moment to the second. */
export function When({ at, none = '—', exact = false, relative = false, zone }: WhenProps) {
  if (!at) return <>{none}</>;
  const is_moment = exact || relative || zone !== undefined || !isNear(at);
  return (
    <time dateTime={at} title={formatDate(at, TITLE)} className="nowrap">
      {is_moment ? formatTime(at, zone) : formatDistance(at)}
      {relative && ` (${formatDistance(at)})`}
    </time>
  );
}

/** Shows the time of day, to the millisecond. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at} className="nowrap">
      {formatDate(at, MOMENT)}
    </time>
  );
}
