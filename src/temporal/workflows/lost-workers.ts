import { TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, sleep, TimeoutFailure } from '@temporalio/workflow';

/**
 * The number of attempts of one step or call that may be lost with their worker. If a server does not probe its connections, a
 * frozen worker's requests stay open for a minute and swallow about five attempts. A lower limit would fail runs that another
 * worker can finish.
 */
const MOST_LOST = 10;
const FIRST_PAUSE_S = 1;
const LONGEST_PAUSE_S = 30;

const LOST: readonly TimeoutType[] = [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE];

/** Failure types for the retry policy: the engine reports an attempt that was lost with its worker instead of retrying it. */
export const LOST_ATTEMPTS = ['TemporalTimeout:Heartbeat', 'TemporalTimeout:StartToClose'];

/**
 * Repeats work whose worker was lost, and fails the run if that happens too often: the work itself may be crashing the workers.
 */
export async function retryIfWorkerLost<T>(what: string, work: () => Promise<T>): Promise<T> {
  for (let lost = 1; ; lost += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isLost(error)) throw error;
      if (lost === MOST_LOST) throw ApplicationFailure.nonRetryable(describeGiveUp(what), 'worker_lost_repeatedly');
      await sleep(Math.min(FIRST_PAUSE_S * 2 ** (lost - 1), LONGEST_PAUSE_S) * 1_000);
    }
  }
}

const isLost = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure && LOST.includes(error.cause.timeoutType);

const describeGiveUp = (what: string) =>
  `The worker was lost ${MOST_LOST} times in ${what}. Look at the logs of the workers for what ends them, then send the prompt again.`;
