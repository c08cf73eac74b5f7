/** How often a recoverable error is retried before the run fails. */
const RETRIES = 2;

const FIRST_DELAY_MS = 500;

/** Whether a failure ends the run, and how long to wait before the next attempt: as requested by the provider, or longer each time. */
export function retryDelay({
  recoverable,
  errors,
  retry_after_ms,
}: {
  recoverable: boolean;
  errors: number;
  retry_after_ms?: number | undefined;
}) {
  return { final: !recoverable || errors >= RETRIES, delay_ms: retry_after_ms ?? FIRST_DELAY_MS * 4 ** errors };
}
