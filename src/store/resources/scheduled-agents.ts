import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { ScheduleFire, ScheduledAgent as Wired } from '../../contracts/scheduled-agents.ts';
import { findNextDue, listDueTimes, parseStoredCadence } from '../../domain/cadence.ts';
import { LIVE_STATUSES } from '../../domain/statuses.ts';
import type { ScheduleFire as Fire, Prisma, PrismaClient, ScheduledAgent as Row } from '../../generated/prisma/client.ts';
import { row, rows } from '../database/database.ts';
import { findFact } from '../database/installation.sql.ts';
import { cutPage, type Paging, parseCursor, toCursor, wire, wireAs } from '../database/page.ts';
import { translateConstraintErrors } from '../database/resource.ts';
import type { KeyRing, Sealed } from '../secrets/key-ring.ts';
import { pauseFailingSchedules, settleFire, waitingTaskOfSchedule } from './schedules.sql.ts';

export type { Row as ScheduleRow };

export interface ScheduleValues {
  name?: string | undefined;
  prompt?: string | undefined;
  interval_value?: number | null | undefined;
  interval_unit?: string | null | undefined;
  cron?: string | null | undefined;
  time_zone?: string | undefined;
  jitter_seconds?: number | undefined;
  pause_after_failures?: number | null | undefined;
  disabled_reason?: string | null | undefined;
  start_at?: string | undefined;
  end_at?: string | null | undefined;
  overlap_policy?: string | undefined;
  catchup_window_seconds?: number | undefined;
  enabled?: boolean | undefined;
}

interface NewSchedule extends ScheduleValues {
  /** The id, if one was reserved for the request. */
  id?: string | undefined;
  owner: string;
  owner_login: string;
  workflow_id: string;
}

/** Stored with a cron expression, for servers of the previous release. */
const NO_INTERVAL = { interval_value: 10_000, interval_unit: 'weeks' };

export const scheduleColumns = <V extends ScheduleValues>(values: V) => (values.cron ? { ...values, ...NO_INTERVAL } : values);

/** The values that a schedule keeps of the request that saved it. */
interface KeptOfCaller {
  access_token: string | null;
  service_key_id: string | null;
}

const NOUN = 'scheduled agent';
const MOST_MISSED = 1_000;
/** Schedules for which a process remembers how far it has compared. */
const MOST_COMPARED = 10_000;
/** The time after its catch-up window in which the engine may still fire; after that, a due time counts as missed. */
const GRACE_MS = 60_000;
/** Due times up to this one may have been removed; see src/store/upkeep/retention.sql.ts. */
const FIRES_REMOVED = 'fires_removed_until';
const context = (id: string) => `schedule-token:${id}`;

export type ScheduleStore = ReturnType<typeof scheduleStore>;

export function scheduleStore({ pool, prisma, keys }: { pool: pg.Pool; prisma: PrismaClient; keys: KeyRing }) {
  const table = prisma.scheduledAgent;
  const sealToken = (id: string, access_token: string | null) => {
    if (access_token === null) return { caller_token: null, caller_key_id: null };
    const { sealed: caller_token, key_id: caller_key_id } = keys.seal(access_token, context(id));
    return { caller_token, caller_key_id };
  };
  return {
    ...createFireStore({ pool, prisma }),
    toShown: (row: Row): Wired => toSchedule(row, Date.now()),
    async list({
      limit,
      cursor,
      q,
      ...same
    }: Paging & { owner: string; workflow_id?: string | undefined; q?: string | undefined }) {
      const where: Prisma.ScheduledAgentWhereInput = { ...same, ...(q ? { name: { contains: q, mode: 'insensitive' } } : {}) };
      const after = parseCursor(cursor);
      const [schedules, total] = await Promise.all([
        table.findMany({ where: { AND: [where, after ? { id: { lt: after } } : {}] }, orderBy: { id: 'desc' }, take: limit + 1 }),
        table.count({ where }),
      ]);
      const page = cutPage(schedules, { total, limit, getCursor: ({ id }) => toCursor(id) });
      return { ...page, items: page.items.map((row) => toSchedule(row, Date.now())) };
    },
    find: (id: string): Promise<Row | null> => table.findUnique({ where: { id } }),
    all: (): Promise<Row[]> => table.findMany({ orderBy: { id: 'asc' } }),
    create: ({ id = uuid(), ...values }: NewSchedule, { access_token, service_key_id }: KeptOfCaller): Promise<Row> => {
      const data = { id, ...scheduleColumns(values), ...sealToken(id, access_token), service_key_id };
      return translateConstraintErrors(NOUN, table.create({ data: data as Prisma.ScheduledAgentUncheckedCreateInput }));
    },
    /** Changes a schedule and replaces the values kept of the person who saved it. */
    update: (id: string, values: ScheduleValues, { access_token, service_key_id }: KeptOfCaller): Promise<Row> =>
      translateConstraintErrors(
        NOUN,
        table.update({
          where: { id },
          data: {
            ...scheduleColumns(values),
            ...sealToken(id, access_token),
            service_key_id,
          } as Prisma.ScheduledAgentUpdateInput,
        }),
      ),
    /** Disables a schedule unless it has changed within `grace_ms`. Returns false if it has, or is already disabled. */
    async disableUnchanged(id: string, { grace_ms, reason }: { grace_ms: number; reason: string }): Promise<boolean> {
      const unchanged = { id, enabled: true, updated_at: { lt: new Date(Date.now() - grace_ms) } };
      return (await table.updateMany({ where: unchanged, data: { enabled: false, disabled_reason: reason } })).count === 1;
    },
    /**
     * Disables the schedules whose last runs have failed, as often as their owners allow, and returns their ids. With an id, only
     * that one.
     */
    async pauseFailing(id: string | null = null): Promise<string[]> {
      return (await rows<{ id: string }>(pool, pauseFailingSchedules({ id }))).map((one) => one.id);
    },
    /** Writes back an earlier row. */
    async restore({ id, ...row }: Row): Promise<void> {
      await table.updateMany({ where: { id }, data: row });
    },
    async remove(id: string): Promise<void> {
      await table.deleteMany({ where: { id } });
    },
    /** Deletes the access token of a schedule whose runs do not need one. */
    async forgetToken({ id, updated_at }: Row): Promise<void> {
      await table.updateMany({ where: { id, updated_at }, data: { ...sealToken(id, null), updated_at } });
    },
    /** Returns the access token kept for the default runtime; null if there is none. */
    unsealToken({ id, caller_token, caller_key_id }: Row): string | null {
      if (!caller_token || !caller_key_id) return null;
      return keys.open({ sealed: caller_token, key_id: caller_key_id } as Sealed, context(id));
    },
    /** Seals every access token again with the active key. Returns how many have changed. */
    async rotate(): Promise<number> {
      const stale_rows = await table.findMany({ where: { caller_key_id: { not: keys.active_key_id } } });
      for (const row of stale_rows) {
        const token = keys.open({ sealed: row.caller_token, key_id: row.caller_key_id } as Sealed, context(row.id));
        await table.update({ where: { id: row.id }, data: { ...sealToken(row.id, token), updated_at: row.updated_at } });
      }
      return stale_rows.length;
    },
  };
}

/** Stores the outcome of each due time of a schedule. */
function createFireStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  async function withStatuses(fire_rows: Fire[]): Promise<ScheduleFire[]> {
    const ids = fire_rows.flatMap(({ task_id }) => (task_id ? [task_id] : []));
    const tasks = await prisma.task.findMany({ where: { id: { in: ids } }, select: { id: true, status: true } });
    const statuses = new Map(tasks.map(({ id, status }) => [id, status]));
    return fire_rows.map((fire) => ({ ...wireAs<ScheduleFire>()(fire), task_status: statuses.get(fire.task_id ?? '') ?? null }));
  }
  const place = (scheduled_agent_id: string, due_at: Date) => ({ scheduled_agent_id_due_at: { scheduled_agent_id, due_at } });
  const compared_until = new LRUCache<string, number>({ max: MOST_COMPARED });
  return {
    /**
     * Records that a due time is being served, with the id of the task that will be created. A settled due time is not served
     * again. A due time recorded as missed is: the clock was ahead when it was recorded, and the engine serves it after all.
     */
    async claimFire(scheduled_agent_id: string, due_at: Date): Promise<{ task_id: string; is_settled: boolean }> {
      const data = { scheduled_agent_id, due_at, task_id: uuid(), outcome: 'firing' };
      const missed = { scheduled_agent_id, due_at, outcome: 'missed' };
      await prisma.scheduleFire.updateMany({ where: missed, data: { ...data, detail: null } });
      await prisma.scheduleFire.createMany({ data: [data], skipDuplicates: true });
      const fire = await prisma.scheduleFire.findUniqueOrThrow({ where: place(scheduled_agent_id, due_at) });
      return { task_id: fire.task_id ?? data.task_id, is_settled: fire.outcome !== 'firing' };
    },
    async settleFire(
      scheduled_agent_id: string,
      due_at: Date,
      end: { outcome: string; detail?: string; task_id: string | null },
    ) {
      const { outcome, detail = null, task_id } = end;
      await row(pool, settleFire({ scheduled_agent_id, due_at, outcome, detail, task_id }));
    },
    /**
     * Makes a due time without a run ready to be served again, with another task id: a refused task may be on record under the
     * old one.
     */
    async reopenFire(scheduled_agent_id: string, due_at: Date): Promise<void> {
      const where = { scheduled_agent_id, due_at, outcome: { in: ['missed', 'skipped', 'failed'] } };
      const data = { outcome: 'firing', task_id: uuid(), detail: null, fired_at: new Date() };
      await prisma.scheduleFire.updateMany({ where, data });
    },
    /** Records the reason why a due time has no task yet. Its start is retried. */
    async noteWaiting(scheduled_agent_id: string, due_at: Date, detail: string): Promise<void> {
      await prisma.scheduleFire.updateMany({ where: { scheduled_agent_id, due_at, outcome: 'firing' }, data: { detail } });
    },
    /** Returns a run of this schedule that has not ended; null if there is none. */
    async openTask(scheduled_agent_id: string, except: string): Promise<string | null> {
      const open = { in: [...LIVE_STATUSES] };
      const task = await prisma.task.findFirst({
        where: { scheduled_agent_id, status: open, id: { not: except } },
        select: { id: true },
      });
      return task?.id ?? null;
    },
    /** Returns a run of this schedule that waits for its turn in its workflow; null if there is none. */
    async waitingTask(scheduled_agent_id: string, except: string): Promise<string | null> {
      return (await row<{ id: string }>(pool, waitingTaskOfSchedule({ scheduled_agent_id, except })))?.id ?? null;
    },
    /** Records due times as missed that were not served since the schedule's last change, and no longer will be. */
    async noteMissed(schedule: Row, now: number): Promise<void> {
      if (!schedule.enabled) return;
      const until = now - (schedule.catchup_window_seconds + schedule.jitter_seconds) * 1000 - GRACE_MS;
      const changed_at = schedule.updated_at.getTime();
      // To list a thousand times of a cron expression takes a tenth of a second: each process does it once for a schedule.
      const key = `${schedule.id} ${changed_at}`;
      const after = Math.max(changed_at, compared_until.get(key) ?? 0);
      const due = listDueTimes(parseStoredCadence(schedule), { after, until, limit: MOST_MISSED });
      if (due.length === 0) return;
      const span = { gte: new Date(due[0]!), lte: new Date(until) };
      const recorded_fires = await prisma.scheduleFire.findMany({
        where: { scheduled_agent_id: schedule.id, due_at: span },
        select: { due_at: true },
      });
      const due_times = new Set(recorded_fires.map(({ due_at }) => due_at.getTime()));
      // Read after the served due times, so that it covers any of them that were removed before.
      const removed_until = Date.parse((await row<{ value: string }>(pool, findFact({ name: FIRES_REMOVED })))?.value ?? '') || 0;
      const detail = 'The service was down at the due time, for longer than the catch-up window';
      const data = due
        .filter((time) => !due_times.has(time) && time > removed_until)
        .map((time) => ({ scheduled_agent_id: schedule.id, due_at: new Date(time), outcome: 'missed', detail }));
      if (data.length > 0) await prisma.scheduleFire.createMany({ data, skipDuplicates: true });
      compared_until.set(key, until);
    },
    async listRuns(scheduled_agent_id: string, { limit, before }: { limit: number; before?: string | undefined }) {
      const where = { scheduled_agent_id, ...(before ? { due_at: { lt: new Date(before) } } : {}) };
      const [fire_rows, total] = await Promise.all([
        prisma.scheduleFire.findMany({ where, orderBy: { due_at: 'desc' }, take: limit }),
        prisma.scheduleFire.count({ where: { scheduled_agent_id } }),
      ]);
      return { items: await withStatuses(fire_rows), total, next: null };
    },
    /** Returns the due times of this list that are on record, oldest first. */
    async firesAt(scheduled_agent_id: string, due: readonly number[]): Promise<ScheduleFire[]> {
      const where = { scheduled_agent_id, due_at: { in: due.map((time) => new Date(time)) } };
      return withStatuses(await prisma.scheduleFire.findMany({ where, orderBy: { due_at: 'asc' } }));
    },
  };
}

/**
 * Converts a row to the wire format. The next time is computed with the engine's algorithm, so it is correct even if the engine
 * is unreachable.
 */
export function toSchedule(row: Row, now: number): Wired {
  const { owner: _owner, owner_login: _login, caller_token: _token, caller_key_id: _key, service_key_id: _saver, ...rest } = row;
  const next = row.enabled ? findNextDue(parseStoredCadence(row), now) : null;
  const interval = row.cron === null ? {} : { interval_value: null, interval_unit: null };
  return { ...wire(rest), ...interval, next_run_at: next === null ? null : new Date(next).toISOString() } as Wired;
}
