import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { type EngineCadence, engineCadence, parseStoredCadence, type StoredCadence } from '../../domain/cadence.ts';
import { SUMMARY_BYTES, truncateToBytes } from '../../domain/engine-texts.ts';
import { SCHEDULE_PREFIX, toScheduleId, WORKFLOW_TASK_TIMEOUT } from '../names.ts';
import { withCallDeadline } from './engine.ts';
import { withPageLink } from './page-links.ts';
import { toOwnerPriority } from './priority.ts';

interface EngineSchedule extends StoredCadence {
  id: string;
  owner: string;
  name: string;
  enabled: boolean;
  catchup_window_seconds: number;
  jitter_seconds: number;
}

/** The only interface to the engine's schedules for the rest of the service. If the engine is unreachable, every call throws `unavailable`. */
export interface Schedules {
  /** Creates the engine's schedule, or updates it. One that was paused in the engine by hand stays paused, unless `resumes`. */
  save(schedule: EngineSchedule, options?: { resumes?: boolean }): Promise<void>;
  /** Resolves once the engine has no schedule with this id. */
  remove(id: string): Promise<void>;
  /** Returns the schedules of this installation by id, each with true if it matches its row. The list may lag slightly. */
  overview(rows: readonly EngineSchedule[]): Promise<Map<string, boolean>>;
  /** Returns the time of the next run; null if the engine has no such schedule, or a different one. */
  nextRun(id: string): Promise<Date | null>;
  /** Returns true if the engine's schedule equals the given one. */
  matches(schedule: EngineSchedule): Promise<boolean>;
  /** Returns true if someone has paused the schedule in the engine itself, such as in the Temporal UI. */
  isPausedByHand(id: string): Promise<boolean>;
}

interface ScheduleSettings {
  client: Client;
  task_queue: string;
  /** Returns the service's public address, for links to its dashboard; null: not known, or not yet. */
  public_url(): string | null;
}

/** The engine's note on a schedule that Perdura has paused. Pausing one by hand requires a note, too. */
const DISABLED = 'Disabled in Perdura';

const GONE_CHECKS = 20;
const GONE_CHECK_MS = 50;

export function createSchedules({ client, task_queue, public_url }: ScheduleSettings): Schedules {
  const optionsOf = engineOptions({ task_queue, public_url });
  const soon = withCallDeadline(client);
  const handle = (id: string) => client.schedule.getHandle(toScheduleId(id));
  const describe = (id: string): Promise<ScheduleDescription | null> => soon(() => handle(id).describe().catch(noneIfUnknown));
  return {
    async save(schedule, { resumes = false } = {}) {
      const options = optionsOf(schedule);
      try {
        await soon(() => client.schedule.create({ ...options, scheduleId: toScheduleId(schedule.id), memo: { task_queue } }));
      } catch (error) {
        if (!(error instanceof ScheduleAlreadyRunning)) throw error;
        await soon(() =>
          handle(schedule.id).update(({ state }) => (!resumes && wasPausedByHand(state) ? { ...options, state } : options)),
        );
      }
    },
    async remove(id) {
      await soon(() => handle(id).delete().catch(noneIfUnknown));
      for (let check = 0; (await describe(id)) !== null; check += 1) {
        if (check >= GONE_CHECKS) throw new Error(`The engine still has the schedule ${id} after it was deleted`);
        await new Promise((resolve) => setTimeout(resolve, GONE_CHECK_MS));
      }
    },
    overview: (rows) =>
      soon(async () => {
        const facts_by_id = new Map(rows.map((row) => [row.id, formatFacts(optionsOf(row))]));
        const matches = new Map<string, boolean>();
        for await (const schedule of client.schedule.list()) {
          if (schedule.memo?.task_queue !== task_queue) continue;
          const id = schedule.scheduleId.slice(SCHEDULE_PREFIX.length);
          matches.set(id, facts_by_id.get(id) === formatFacts(schedule));
        }
        return matches;
      }),
    nextRun: async (id) => (await describe(id))?.info.nextActionTimes[0] ?? null,
    async matches(schedule) {
      const engine_schedule = await describe(schedule.id);
      const expected_options = optionsOf(schedule);
      return (
        engine_schedule !== null &&
        formatFacts(engine_schedule) === formatFacts(expected_options) &&
        engine_schedule.policies.catchupWindow === expected_options.policies.catchupWindow
      );
    },
    async isPausedByHand(id) {
      const engine_schedule = await describe(id);
      return engine_schedule !== null && wasPausedByHand(engine_schedule.state);
    },
  };
}

/** True if someone paused the schedule in the engine. Versions older than this note left paused schedules without one. */
const wasPausedByHand = ({ paused, note = '' }: { paused: boolean; note?: string }): boolean =>
  paused && note !== '' && note !== DISABLED;

const noneIfUnknown = (error: unknown): null => {
  if (error instanceof ScheduleNotFoundError) return null;
  throw error;
};

/**
 * Returns the engine's options for a schedule. Overlap is decided when a run is due, by the state of the previous task: the
 * engine only knows that the task was created.
 */
const engineOptions =
  ({ task_queue, public_url }: Omit<ScheduleSettings, 'client'>) =>
  ({ id, owner, name, enabled, catchup_window_seconds, jitter_seconds, ...stored }: EngineSchedule) => ({
    spec: {
      ...engineSpec(engineCadence(parseStoredCadence(stored), Date.now())),
      jitter: jitter_seconds * 1000,
      startAt: stored.start_at,
      ...(stored.end_at === null ? {} : { endAt: stored.end_at }),
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'scheduledRun',
      workflowId: `scheduled-${id}`,
      taskQueue: task_queue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
      args: [id],
      staticSummary: truncateToBytes(name, SUMMARY_BYTES),
      staticDetails: withPageLink(`A due time of the schedule ${id}`, public_url(), `scheduled-agents/${id}`),
      // Not the priority of the run: a due time that waits for too long is recorded as failed.
      priority: toOwnerPriority(owner),
    },
    policies: { overlap: ScheduleOverlapPolicy.ALLOW_ALL, catchupWindow: catchup_window_seconds * 1000 },
    state: { paused: !enabled, note: enabled ? '' : DISABLED },
  });

/** Returns the engine's spec for a cadence. The engine keeps the comment of an expression, but not the expression itself. */
const engineSpec = (cadence: EngineCadence) =>
  'crons' in cadence
    ? { cronExpressions: cadence.crons.map(({ expression, comment }) => `${expression} # ${comment}`) }
    : cadence;

interface Facts {
  spec: {
    intervals?: { every: unknown; offset?: unknown }[];
    calendars?: { comment?: string }[];
    cronExpressions?: string[];
    jitter?: number;
    startAt?: Date;
    endAt?: Date;
  };
  state: { paused: boolean };
}

const formatFacts = (of: unknown): string => {
  const { spec, state } = of as Facts;
  const [interval] = spec.intervals ?? [];
  const comments = [
    ...(spec.calendars ?? []).map(({ comment }) => comment),
    ...(spec.cronExpressions ?? []).map((text) => text.split(' # ')[1]),
  ];
  const { startAt, endAt, jitter = 0 } = spec;
  return JSON.stringify([interval?.every, interval?.offset ?? 0, comments.sort(), jitter, startAt, endAt, state.paused]);
};
