/** The number of retries of a recoverable error before the run fails. */
const RETRIES = 2;

const FIRST_DELAY_MS = 500;

/**
 * Decides if a failure ends the run, and the delay before the next attempt: as requested by the provider, up to `most_ms`, or
 * longer each time.
 */
export function retryDelay({
  recoverable,
  errors,
  retry_after_ms = 0,
  most_ms = Number.POSITIVE_INFINITY,
}: {
  recoverable: boolean;
  errors: number;
  retry_after_ms?: number | undefined;
  most_ms?: number;
}) {
  return {
    final: !recoverable || errors >= RETRIES,
    delay_ms: retry_after_ms > 0 ? Math.min(retry_after_ms, most_ms) : FIRST_DELAY_MS * 4 ** errors,
  };
}
