import type { ModelFailure } from '../../domain/model-failure.ts';

/** The number of retries of a recoverable error before the run fails. */
const RETRIES = 2;

const FIRST_DELAY_MS = 500;

type Failure = Pick<ModelFailure, 'recoverable'> & Partial<Pick<ModelFailure, 'retry_after_ms'>>;

/**
 * Decides if a failure ends the run, and the delay before the next attempt: as requested by the provider, up to `most_ms`, or
 * longer each time. `errors`: how often the step or call has failed before. The runtimes decide which failures are recoverable.
 */
export function retryDelay(
  { recoverable, retry_after_ms = 0 }: Failure,
  { errors, most_ms = Number.POSITIVE_INFINITY }: { errors: number; most_ms?: number },
) {
  return {
    final: !recoverable || errors >= RETRIES,
    delay_ms: retry_after_ms > 0 ? Math.min(retry_after_ms, most_ms) : FIRST_DELAY_MS * 4 ** errors,
  };
}
