import type pg from 'pg';
import type { BlockingCap, CapWarning, ExpectedCall } from '../../domain/caps.ts';
import { type Queryable, row, rows } from '../database/database.ts';
import * as sql from './caps.sql.ts';

/** How long a reservation counts after it was last prolonged, in seconds. */
const LEASE_SECONDS = 30;

/** A chat that asks a model, and who pays for it. */
export interface ChatPayer {
  session_id: string;
  owner: string;
  service_key_id: string | null;
  agent_id: string;
}

/** The outcome of a reservation; null: no budget applies. */
export type ReserveAnswer = { blocked: BlockingCap; warnings?: never } | { blocked?: never; warnings: CapWarning[] } | null;

export type CapStore = ReturnType<typeof capStore>;

/** The budgets above runs, as calls of models use them. `reservation` is the id of one call. */
export function capStore(pool: Queryable) {
  const reserve = async (query: pg.QueryConfig) => (await row<{ answer: ReserveAnswer }>(pool, query))?.answer ?? null;
  const lease_seconds = LEASE_SECONDS;
  return {
    /** Reserves a call of a run. If it is blocked and `waits`, the run is noted as waiting, for `raiseWaiting`. */
    reserveForRun: (call: ExpectedCall & { reservation: string; task_id: string; waits: boolean }) =>
      reserve(sql.reserveForRun({ ...call, lease_seconds })),
    reserveForChat: (call: ExpectedCall & ChatPayer & { reservation: string }) =>
      reserve(sql.reserveForChat({ ...call, lease_seconds })),
    /** Counts what a chat's reply has used. */
    async spendForChat({ session_id: _, ...payer }: ChatPayer, use: { reservation: string; cost: number; tokens: number }) {
      await row(pool, sql.spendForChat({ ...payer, ...use }));
    },
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
    /** Removes reservations whose process is lost. */
    async sweep(): Promise<void> {
      await row(pool, sql.sweepCaps());
    },
  };
}
