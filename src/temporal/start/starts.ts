import { AppError } from '../../domain/errors.ts';

/** A run that is about to be started. */
interface Start {
  task_id: string;
  owner: string;
  /** True if its steps are executed in this process. */
  steps_here: boolean;
}

/**
 * Limits how many runs start at once in this process. Otherwise all runs of a burst advance equally slowly, and even the runs
 * that are already producing text compete for the processor.
 */
export interface Starts {
  /**
   * Starts a run in its turn; owners take turns. Throws if too many runs of its owner already wait. Resolves with the result of
   * `work`. The turn ends with `work` or, if the steps are executed here, with `endTurn`.
   */
  inTurn<T>(start: Start, work: () => Promise<T>): Promise<T>;
  /** Ends the turn of a run whose model has been called, or which waits for something else, so that the next run may start. */
  endTurn(task_id: string): void;
}

/** The longest turn. A run that takes longer waits for a server, or the machine is slow; neither may hold up the others. */
const LONGEST_MS = 300;

/** The number of runs of one owner that may wait: about twenty seconds of starts, longer than most clients wait for an answer. */
const MOST_WAITING = 500;
const RETRY_AFTER_S = 2;

function toRefusal(): AppError {
  const message = `More than ${MOST_WAITING} of your runs wait to be started; this one was not, try again shortly`;
  return new AppError('unavailable', message, { code: 'too_many_waiting', retry_after_s: RETRY_AFTER_S });
}

export function startsInTurn(most: number): Starts {
  const waiting = new Map<string, (() => void)[]>();
  const starting = new Map<string, () => void>();
  let free = most;

  async function waitForTurn(owner: string): Promise<void> {
    if (free > 0) {
      free -= 1;
      return;
    }
    const before = waiting.get(owner) ?? [];
    if (before.length >= MOST_WAITING) throw toRefusal();
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.set(owner, [...before, resolve]);
    await promise;
  }

  function passOn(): void {
    const [first] = waiting;
    if (!first) {
      free += 1;
      return;
    }
    const [owner, [next, ...rest]] = first;
    waiting.delete(owner);
    if (rest.length > 0) waiting.set(owner, rest);
    next?.();
  }

  /** Begins a turn and returns the function that ends it, which may be called several times. */
  function beginTurn(task_id: string): () => void {
    const end = () => {
      if (starting.get(task_id) !== end) return;
      clearTimeout(timer);
      starting.delete(task_id);
      passOn();
    };
    const timer = setTimeout(end, LONGEST_MS);
    starting.get(task_id)?.();
    starting.set(task_id, end);
    return end;
  }

  return {
    async inTurn({ task_id, owner, steps_here }, work) {
      await waitForTurn(owner);
      const end = beginTurn(task_id);
      let goes_on = false;
      try {
        const result = await work();
        goes_on = steps_here;
        return result;
      } finally {
        if (!goes_on) end();
      }
    },
    endTurn: (task_id) => starting.get(task_id)?.(),
  };
}
