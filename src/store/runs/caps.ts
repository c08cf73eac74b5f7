import type pg from 'pg';
import type { BlockingCap, CapWarning, ExpectedCall } from '../../domain/caps.ts';
import { type Queryable, row, rows } from '../database/database.ts';
import * as sql from './caps.sql.ts';

/** How long a reservation counts after it was last prolonged, in seconds. */
const LEASE_SECONDS = 30;

/** The outcome of a reservation; null: no budget applies. */
export type ReserveAnswer = { blocked: BlockingCap; warnings?: never } | { blocked?: never; warnings: CapWarning[] } | null;

/** The step that a call belongs to, and the attempt at it that makes the call. */
interface StepAttempt {
  task_id: string;
  step: number;
  attempt: number;
}

/** Runs that wait until a price is known for the model that they ask, and for those that have answered. */
interface UnpricedWaits {
  definition_hash: string;
  /** The position of the model among the run's fallbacks; 0: the run's own. */
  position: number;
  unpriced_models: string[];
  task_ids: string[];
}

export type CapStore = ReturnType<typeof capStore>;

/** The budgets above runs, as calls of models use them. `reservation` is the id of one call. */
export function capStore(pool: Queryable) {
  const reserve = async (query: pg.QueryConfig) => (await row<{ answer: ReserveAnswer }>(pool, query))?.answer ?? null;
  const lease_seconds = LEASE_SECONDS;
  return {
    /**
     * Reserves a call of a run's step. If it is blocked, the run is noted as waiting, for `raiseWaiting`. Returns `stale` if another
     * attempt owns the step.
     */
    async reserveForStep(call: ExpectedCall & StepAttempt & { reservation: string }): Promise<ReserveAnswer | 'stale'> {
      const found = await row<{ answer: ReserveAnswer }>(pool, sql.reserveForStep({ ...call, lease_seconds }));
      return found ? found.answer : 'stale';
    },
    /** Reserves a call that a run makes apart from its steps. */
    reserveAside: (call: ExpectedCall & { reservation: string; task_id: string }) =>
      reserve(sql.reserveAside({ ...call, lease_seconds })),
    async release(reservation: string): Promise<void> {
      await row(pool, sql.releaseReservation({ reservation }));
    },
    /** Keeps reservations for another lease. */
    async prolong(reservations: string[]): Promise<void> {
      await row(pool, sql.prolongReservations({ reservations, lease_seconds }));
    },
    /** Returns the runs that fit the budget they wait for, each once a minute at most. */
    raiseWaiting: async (): Promise<string[]> =>
      (await rows<{ task_id: string }>(pool, sql.raiseWaiting())).map(({ task_id }) => task_id),
    /** Lists the runs that `raiseWaiting` leaves out, because a price decides. */
    listUnpriced: () => rows<UnpricedWaits>(pool, sql.listUnpricedWaits()),
    /** Removes reservations whose process is lost. */
    async sweep(): Promise<void> {
      await row(pool, sql.sweepCaps());
    },
  };
}
