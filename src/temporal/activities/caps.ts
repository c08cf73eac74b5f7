import { v7 as uuid } from 'uuid';
import type { CapStore, ReserveAnswer } from '../../store/runs/caps.ts';
import { staleAttempt } from './attempt.ts';

interface CapsPorts {
  caps: Pick<CapStore, 'release' | 'prolong' | 'raiseWaiting'>;
  /** Lets a run that waits for a budget try again. */
  raise(task_id: string): Promise<unknown>;
}

/** What this process has reserved in the budgets above runs. It prolongs the reservations until their calls end. */
export interface Caps {
  /**
   * Reserves a call by `reserve`, which is given the id of the reservation. `reservation` is null if no budget applies or one blocks.
   * Throws if another attempt owns the step.
   */
  hold(reserve: (reservation: string) => Promise<ReserveAnswer | 'stale'>): Promise<Held>;
  /** Ends a reservation that was released together with the usage of its call. */
  settled(reservation: string): void;
  /**
   * Ends a reservation whose call used nothing that is recorded; null: nothing was reserved. Best effort: a reservation that is not
   * prolonged ends by itself.
   */
  release(reservation: string | null): Promise<void>;
  /** Lets the runs try again for which there is room now. Best effort: the reconciler repeats it. */
  wake(): Promise<void>;
}

interface Held {
  reservation: string | null;
  answer: ReserveAnswer;
}

/** The time between two prolongations, a third of the lease. */
const PROLONG_MS = 10_000;

export function createCaps({ caps, raise }: CapsPorts): Caps {
  const held = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let waking: Promise<void> | null = null;
  let is_stale = false;

  function keep(reservation: string): void {
    held.add(reservation);
    timer ??= setInterval(() => void caps.prolong([...held]).catch(() => {}), PROLONG_MS).unref();
  }

  function end(reservation: string): void {
    held.delete(reservation);
    if (held.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    void wake();
  }

  /** One search at a time: what changes meanwhile is looked at by the next one. */
  function wake(): Promise<void> {
    is_stale = true;
    waking ??= search()
      .catch(() => {})
      .finally(() => {
        waking = null;
      });
    return waking;
  }

  async function search(): Promise<void> {
    while (is_stale) {
      is_stale = false;
      // What one run does not hear, the reconciler repeats; it holds up no other.
      for (const task_id of await caps.raiseWaiting()) await raise(task_id).catch(() => {});
    }
  }

  return {
    async hold(reserve) {
      const reservation = uuid();
      const answer = await reserve(reservation);
      if (answer === 'stale') throw staleAttempt();
      if (!answer || answer.blocked) return { reservation: null, answer };
      keep(reservation);
      return { reservation, answer };
    },
    settled: end,
    async release(reservation) {
      if (reservation === null) return;
      await caps.release(reservation).catch(() => {});
      end(reservation);
    },
    wake,
  };
}
