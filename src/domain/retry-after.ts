/**
 * Returns Retry-After in milliseconds: seconds or a date, or the finer header that some providers add. Undefined unless it is
 * later than now.
 */
export function parseRetryAfter(headers: Headers | undefined): number | undefined {
  const fine = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (fine > 0) return fine;
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const wait = Number.isNaN(Number(text)) ? Date.parse(text) - Date.now() : Number(text) * 1000;
  return wait > 0 ? wait : undefined;
}
