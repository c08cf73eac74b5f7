import type pg from 'pg';
import { DELTAS_KEPT_MS } from '../../domain/pieces.ts';
import { toFirstUuid } from '../../domain/uuid.ts';
import { type Database, inTransaction, onlyRow, type Queryable, row, rows } from '../database/database.ts';
import { KEPT_MS as KEYS_KEPT_MS } from '../database/idempotency.ts';
import { findFact, writeFact } from '../database/installation.sql.ts';
import * as audit from '../people/audit.sql.ts';
import { ORIGINS_KEPT_MS } from '../people/thread-tokens.ts';
import { lockAttachments, removeUnusedAttachments } from '../runs/attachments.sql.ts';
import * as events from '../runs/event-partitions.sql.ts';
import * as sql from './retention.sql.ts';

/** The position where a sweep continues: the last row that it read. */
export interface SweepPlace {
  at: Date;
  id: string;
}

/** The result of one batch of a sweep. */
interface Swept {
  removed: number;
  /** The start of the next batch; null: nothing is left, or another process is removing records. */
  next: SweepPlace | null;
}

/** Removes one batch of old records, found after a place in the order of an index. Without a place, removes the first batch. */
export type Sweep = (after?: SweepPlace) => Promise<Swept>;

const START: SweepPlace = { at: new Date(0), id: '00000000-0000-0000-0000-000000000000' };

/** Events per batch, unless one task has more. */
const EVENTS = 5_000;
/** The time that a file without a task is kept: its prompt may be on its way. */
const UNUSED_ATTACHMENTS_KEPT_MS = 24 * 3_600_000;
const DELTAS_PLACE = 'deltas_removed_until';
/**
 * The number of days for which partitions are made in advance, so that events have theirs even if no worker runs for some days.
 */
const PARTITIONS_AHEAD_DAYS = 8;

const NOTHING: Swept = { removed: 0, next: null };

/**
 * Removes records that are no longer needed. Every batch is one transaction; any number of processes may do this at the same
 * time.
 */
export function retentionStore({ pool }: Pick<Database, 'pool'>) {
  const taking = (work: (on: Queryable) => Promise<Swept>): Promise<Swept> =>
    inTransaction(pool, async (on) => {
      const { taken } = await onlyRow<{ taken: boolean }>(on, sql.takeTurn());
      return taken ? work(on) : NOTHING;
    });
  return {
    /**
     * Returns the time of the clock that the ends of tasks were recorded with: a worker with a wrong clock must not remove recent
     * records.
     */
    now: async () => (await onlyRow<{ now: Date }>(pool, sql.databaseTime())).now,
    /**
     * Moves the time up to which ages are counted to now, but by a day at most, so that a wrong clock is noticed before it
     * removes much.
     */
    async advanceAgingClock(): Promise<Date> {
      return (await onlyRow<{ at: Date }>(pool, sql.advanceAgingClock())).at;
    },
    /** Returns the time up to which ages are counted, and that of the database; null if it was never moved. */
    async agingClock(): Promise<{ at: Date; now: Date } | null> {
      return (await row<{ at: Date; now: Date }>(pool, sql.readAgingClock())) ?? null;
    },
    /** Creates the partitions of events for the next days. */
    async makePartitions(): Promise<void> {
      await taking(async (on) => {
        await rows(on, events.makeEventPartitions({ days: PARTITIONS_AHEAD_DAYS }));
        return NOTHING;
      });
    },
    /** Returns the sweeps that run in every installation, regardless of the operator's retention settings. */
    transient: (now: Date): Record<string, Sweep> => ({
      deltas: () => taking((on) => deltas(on, deltasBefore(now))),
      delta_partitions: () => taking((on) => partition(on, 'events_deltas', deltasBefore(now))),
      idempotency_keys: () => taking((on) => removeBatch(on, sql.expireKeys({ before: new Date(now.getTime() - KEYS_KEPT_MS) }))),
      attachments: (after = START) => taking((on) => attachments(on, now, after)),
      mcp_sign_in_attempts: () => taking((on) => removeBatch(on, sql.removeMcpSignInAttempts({ now }))),
      browser_sessions: () => taking((on) => removeBatch(on, sql.removeBrowserSessions({ now }))),
      thread_tokens: () =>
        taking((on) => removeBatch(on, sql.removeThreadTokens({ now: new Date(now.getTime() - ORIGINS_KEPT_MS) }))),
    }),
    /** Returns the sweep of audit entries from before a time. */
    audit: (before: Date): Record<string, Sweep> => ({
      audit_entries: () =>
        taking(async (on) => {
          await rows(on, audit.allowAuditRetention());
          return removeBatch(on, audit.removeAudit({ before }));
        }),
    }),
    /** Returns the sweeps of records that ended before a time. */
    ended: (before: Date): Record<string, Sweep> => {
      const before_id = toFirstUuid(before.getTime());
      const from = ({ at, id }: SweepPlace) => ({ before, after_at: at, after_id: id });
      const fromId = ({ id }: SweepPlace) => ({ before_id, after_id: id });
      const walk =
        (batch: (after: SweepPlace) => pg.QueryConfig) =>
        (after = START) =>
          taking((on) => walkBatch(on, batch(after)));
      return {
        tasks: (after = START) => taking((on) => tasks(on, before, after)),
        schedule_fires: walk((after) => sql.removeFires(from(after))),
        token_uses: walk((after) => sql.removeTokenUses(fromId(after))),
        secret_grants: walk((after) => sql.removeGrants(from(after))),
        threads: walk((after) => sql.removeThreads({ before, ...fromId(after) })),
        single_use_workflows: walk((after) => sql.removeSingleUse(fromId(after))),
        definitions: walk(({ id }) => sql.removeDefinitions({ before, after_hash: id })),
        event_partitions: () => taking((on) => partition(on, 'events_lasting', before)),
      };
    },
  };
}

interface Counted {
  removed: number;
}

async function removeBatch(on: Queryable, batch: pg.QueryConfig): Promise<Swept> {
  const { removed } = await onlyRow<Counted>(on, batch);
  return { removed, next: removed === sql.BATCH ? START : null };
}

interface Walked extends Counted {
  looked: number;
  at?: Date;
  id: string | null;
}

async function walkBatch(on: Queryable, batch: pg.QueryConfig): Promise<Swept> {
  const { removed, looked, at = START.at, id } = await onlyRow<Walked>(on, batch);
  return { removed, next: looked === sql.BATCH ? { at, id: id as string } : null };
}

const deltasBefore = (now: Date) => new Date(now.getTime() - DELTAS_KEPT_MS);

async function partition(on: Queryable, branch: string, before: Date): Promise<Swept> {
  const { dropped } = await onlyRow<{ dropped: string | null }>(on, events.dropEvents({ branch, before }));
  return dropped ? { removed: 1, next: START } : NOTHING;
}

const listEndedTasks = (on: Queryable, before: Date, { at, id }: SweepPlace): Promise<SweepPlace[]> =>
  rows<SweepPlace>(on, sql.endedTasks({ before, after_at: at, after_id: id, rows: EVENTS }));

/** Removes deltas. Each ended task is visited once: the place of the last one is on record. */
async function deltas(on: Queryable, before: Date): Promise<Swept> {
  const saved_place = (await row<{ value: string }>(on, findFact({ name: DELTAS_PLACE })))?.value;
  const ended = await listEndedTasks(on, before, parsePlace(saved_place));
  const last = ended.at(-1);
  if (!last) return NOTHING;
  const { removed } = await onlyRow<Counted>(on, events.removeDeltas({ task_ids: ended.map(({ id }) => id) }));
  await rows(on, writeFact({ name: DELTAS_PLACE, value: `${last.at.toISOString()} ${last.id}` }));
  return { removed, next: last };
}

function parsePlace(text: string | undefined): SweepPlace {
  const [at, id] = text?.split(' ') ?? [];
  return at && id ? { at: new Date(at), id } : START;
}

/**
 * Removes tasks. A task is removed with everything that belongs to it in one transaction, so nobody sees a part of it. Events
 * without their task are never found.
 */
async function tasks(on: Queryable, before: Date, after: SweepPlace): Promise<Swept> {
  const ended = await listEndedTasks(on, before, after);
  const last = ended.at(-1);
  if (!last) return NOTHING;
  const ids = (task_rows: { id: string }[]) => ({ task_ids: task_rows.map(({ id }) => id) });
  const locked = await rows<{ id: string }>(on, sql.lockTasks(ids(ended)));
  // A separate statement, so that it sees the forks made until the lock was granted.
  const removed_rows = await rows<{ id: string }>(on, sql.removeTasks({ ...ids(locked), before }));
  await rows(on, events.removeEvents(ids(removed_rows)));
  return { removed: removed_rows.length, next: last };
}

/** Removes files without a task. Reads all old ones each time, because a task may have been removed since. */
async function attachments(on: Queryable, now: Date, { id: after_id }: SweepPlace): Promise<Swept> {
  const before_id = toFirstUuid(now.getTime() - UNUSED_ATTACHMENTS_KEPT_MS);
  const locked = await rows<{ id: string }>(on, lockAttachments({ before_id, after_id }));
  const ids = locked.map(({ id }) => id);
  // A separate statement, so that it sees the tasks made until the lock was granted.
  const removed_rows = ids.length > 0 ? await rows<{ id: string }>(on, removeUnusedAttachments({ ids })) : [];
  return { removed: removed_rows.length, next: ids.length === sql.BATCH ? { at: START.at, id: ids.at(-1) as string } : null };
}
