const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Returns a time, rounded to the minute, so that polling keeps the same query. */
const hoursAgo = (hours: string) =>
  new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - Number(hours) * HOUR_MS).toISOString();

/** Returns the local start of a day, or of a later one; null if the text is not a day. */
function parseDayStart(day: string | undefined, later = 0): string | null {
  const [year, month, date] =
    /^(\d{4})-(\d\d)-(\d\d)$/
      .exec(day ?? '')
      ?.slice(1)
      .map(Number) ?? [];
  if (year === undefined || month === undefined || date === undefined) return null;
  return new Date(year, month - 1, date + later).toISOString();
}

/** Builds the query for the filters of the screen: its days and hours become times for the API. */
export function toTaskQuery({ hours, from, to, group: _group, ...rest }: Record<string, string>): Record<string, string> {
  const since = parseDayStart(from) ?? (hours ? hoursAgo(hours) : null);
  const until = parseDayStart(to, 1);
  return { ...rest, ...(since ? { since } : {}), ...(until ? { until } : {}) };
}
