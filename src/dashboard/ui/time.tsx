import { formatDistance } from './figures.ts';

const DAY: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const MINUTE: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' };
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

interface WhenProps {
  at: string | null | undefined;
  none?: string;
  /** True if the distance from now is shown too. */
  relative?: boolean;
  /** An IANA time zone other than the browser's. */
  zone?: string;
}

/** Formats a time with its zone, by default the browser's, and with its year if that is not the current one. */
export function formatTime(at: string, zone?: string): string {
  const year: Intl.DateTimeFormatOptions = new Date(at).getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' };
  return formatDate(at, { ...DAY, ...year, ...MINUTE, ...(zone && { timeZone: zone }) });
}

/** Shows a time as `formatTime` does, with ISO 8601 in the title. */
export function When({ at, none = '—', relative = false, zone }: WhenProps) {
  if (!at) return <>{none}</>;
  return (
    <time dateTime={at} title={at} className="nowrap">
      {formatTime(at, zone)}
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
