import { TimeoutType } from '@temporalio/common';
import { ActivityFailure, ApplicationFailure, sleep, TimeoutFailure } from '@temporalio/workflow';

/**
 * How many attempts of one step or call may end with their worker. A server that does not probe its connections leaves the requests for
 * work of a frozen worker open for a minute, in which it takes about five. So fewer would fail runs that another worker can finish.
 */
const MOST_LOST = 10;
const FIRST_PAUSE_S = 1;
const LONGEST_PAUSE_S = 30;

const LOST: readonly TimeoutType[] = [TimeoutType.HEARTBEAT, TimeoutType.START_TO_CLOSE];

/** For the retry policy: the engine reports an attempt that was lost with its worker instead of trying it again by itself. */
export const LOST_ATTEMPTS = ['TemporalTimeout:Heartbeat', 'TemporalTimeout:StartToClose'];

/** Tries work again whose worker was lost, and fails the run if that happens again and again: the work may be what ends the workers. */
export async function outliving<T>(what: string, work: () => Promise<T>): Promise<T> {
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
