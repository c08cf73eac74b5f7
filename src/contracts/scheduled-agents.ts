import { z } from 'zod';
import { alsoTaken, Id, ListQuery, Name, QueryInt, Timestamp, toPatchSchema } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

const INTERVAL_UNITS = ['minutes', 'hours', 'days', 'weeks'] as const;
const OVERLAP_POLICIES = ['skip', 'enqueue_one', 'enqueue', 'interrupt'] as const;
const FIRE_OUTCOMES = ['firing', 'started', 'triggered', 'backfilled', 'skipped', 'missed', 'failed'] as const;

/** Temporal's names for the same policies. */
const TEMPORAL_POLICIES: Record<string, (typeof OVERLAP_POLICIES)[number]> = {
  buffer_one: 'enqueue_one',
  buffer_all: 'enqueue',
  cancel_other: 'interrupt',
};
const NOT_OFFERED: Record<string, string> = {
  allow_all: 'A workflow runs one task at a time, so runs cannot overlap: use enqueue, or several workflows',
  terminate_other: 'A run is not ended without recording what its tools did: use interrupt',
};

const OverlapPolicy = alsoTaken(z.enum(OVERLAP_POLICIES, { error: ({ input }) => NOT_OFFERED[String(input)] }), {
  read: (policy) => TEMPORAL_POLICIES[String(policy)] ?? policy,
});

/** The most due times that one request may list or run. */
export const MOST_DUE_TIMES = 100;

/** Accepts any offset and returns UTC. The engine's time format cannot hold years far from the present. */
const Time = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .pipe(z.string().regex(/^(19[7-9]|2\d\d)\d-/, 'Name a year from 1970 to 2999'));

const Recurrence = {
  interval_value: z
    .int()
    .min(1)
    .max(10_000)
    .nullable()
    .default(null)
    .meta({ description: 'With `interval_unit`: the time between two runs. Either an interval or `cron` is required' }),
  interval_unit: z.enum(INTERVAL_UNITS).nullable().default(null),
  cron: z.string().min(1).max(100).nullable().default(null).meta({
    description: 'Five fields: minute, hour, day of month, month, day of week; or a name such as `@daily`',
    example: '30 7 * * MON-FRI',
  }),
  time_zone: z
    .string()
    .min(1)
    .max(64)
    .default('UTC')
    .meta({ description: 'IANA name of the time zone in which `cron` is read', example: 'Europe/Berlin' }),
  start_at: Time.optional().meta({
    description: 'The first run, or with `cron` the time before which there is none; left out: now',
  }),
  end_at: Time.nullable().default(null).meta({ description: 'No run after this time' }),
};

export const ScheduledAgentCreate = z
  .object({
    name: Name,
    workflow_id: Id.meta({ description: 'Workflow to run; must be your own' }),
    prompt: z.string().min(1).meta({ description: 'Sent at each run' }),
    ...Recurrence,
    jitter_seconds: z
      .int()
      .min(0)
      .max(3_600)
      .default(0)
      .meta({ description: 'Each run starts up to this much later, by chance; less than the time between two runs' }),
    overlap_policy: OverlapPolicy.default('skip').meta({
      description:
        'What to do with a run that is due while the previous one is still running. `enqueue_one`: it waits, unless one waits already',
    }),
    pause_after_failures: z
      .int()
      .min(1)
      .max(100)
      .nullable()
      .default(null)
      .meta({ description: 'Disable the schedule after this many failed runs in a row; null: never' }),
    catchup_window_seconds: z
      .int()
      .min(10)
      .max(365 * 86_400)
      .default(600)
      .meta({ description: 'How late a run may start after the service was down; a later one counts as missed' }),
  })
  .meta({ id: 'ScheduledAgentCreate' });

export const ScheduledAgentUpdate = toPatchSchema(ScheduledAgentCreate.omit({ workflow_id: true })).meta({
  id: 'ScheduledAgentUpdate',
  example: { interval_value: 2, interval_unit: 'hours' },
});

export const ScheduledAgent = z
  .object({
    id: Id,
    name: z.string(),
    workflow_id: Id,
    prompt: z.string(),
    interval_value: z.int().nullable().meta({ description: 'Null with `cron`' }),
    interval_unit: z.enum(INTERVAL_UNITS).nullable(),
    cron: z.string().nullable(),
    time_zone: z.string(),
    start_at: Timestamp,
    end_at: Timestamp.nullable(),
    jitter_seconds: z.int(),
    enabled: z.boolean(),
    disabled_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why the service disabled it; null when it is enabled, or was disabled by its owner' }),
    pause_after_failures: z.int().nullable(),
    overlap_policy: z.enum(OVERLAP_POLICIES),
    catchup_window_seconds: z.int(),
    last_run_at: Timestamp.nullable(),
    next_run_at: Timestamp.nullable().meta({ description: 'Null when disabled or past its end' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'ScheduledAgent' });
export type ScheduledAgent = z.output<typeof ScheduledAgent>;

const ScheduleFire = z
  .object({
    due_at: Timestamp,
    outcome: z
      .enum(FIRE_OUTCOMES)
      .meta({ description: 'triggered: by hand; backfilled: later, by a back-fill; skipped, missed, failed: made no task' }),
    detail: z.string().nullable().meta({ description: 'Why there is no task; while `firing`, why there is none yet' }),
    task_id: Id.nullable(),
    task_status: z.string().nullable(),
    fired_at: Timestamp,
  })
  .meta({ id: 'ScheduleFire' });
export type ScheduleFire = z.output<typeof ScheduleFire>;

const ScheduleBackfill = z
  .object({
    from: Time.meta({ description: 'The first due time, inclusive' }),
    to: Time.meta({ description: 'The last due time, inclusive; not in the future' }),
    overlap_policy: OverlapPolicy.default('enqueue').meta({
      description: "For these runs, instead of the schedule's; by default they run one after the other",
    }),
  })
  .meta({ id: 'ScheduleBackfill', example: { from: '2026-01-05T00:00:00Z', to: '2026-01-09T23:59:59Z' } });

const BackfilledSchedule = z
  .object({ fires: z.array(ScheduleFire).meta({ description: 'Each due time of the range, oldest first' }) })
  .meta({ id: 'BackfilledSchedule' });

const SchedulePreview = z.object({ ...Recurrence, count: z.int().min(1).max(MOST_DUE_TIMES).default(5) }).meta({
  id: 'SchedulePreview',
  example: { cron: '30 7 * * MON-FRI', time_zone: 'Europe/Berlin' },
});

const DueTimes = z
  .object({ due_times: z.array(Timestamp).meta({ description: 'Oldest first; fewer than asked for if the schedule ends' }) })
  .meta({ id: 'DueTimes' });

const tag = 'Scheduled agents';
const one = { tag, params: IdParams, reply: ScheduledAgent, refuses: [403, 503] };

export const scheduledAgents = {
  list: endpoint('GET /api/scheduled-agents', {
    operation: 'list_scheduled_agents',
    tag,
    summary: "List the caller's schedules, newest first",
    query: ListQuery.extend({ workflow_id: Id.optional(), q: z.string().optional() }),
    reply: ScheduledAgent,
    kind: 'page',
  }),
  create: endpoint('POST /api/scheduled-agents', {
    operation: 'create_scheduled_agent',
    tag,
    summary: 'Run a workflow at an interval or by a cron expression',
    description: 'The access token of this request is kept sealed, and checked again whenever a run is due.',
    body: ScheduledAgentCreate,
    reply: ScheduledAgent,
    status: 201,
    refuses: [403, 503],
    idempotent: true,
  }),
  get: endpoint('GET /api/scheduled-agents/{id}', {
    ...one,
    operation: 'get_scheduled_agent',
    summary: 'Get a schedule',
    refuses: [403],
  }),
  update: endpoint('PATCH /api/scheduled-agents/{id}', {
    ...one,
    operation: 'update_scheduled_agent',
    summary: 'Change a schedule',
    description:
      'A field left out is unchanged; `end_at: null` removes the end. A `cron` replaces the interval, and an interval the `cron`.',
    body: ScheduledAgentUpdate,
    refuses: [403, 412, 503],
  }),
  enable: endpoint('PATCH /api/scheduled-agents/{id}/enable', {
    ...one,
    operation: 'enable_scheduled_agent',
    summary: 'Switch a schedule on',
    description: 'Clears `disabled_reason`, and counts failed runs from the start.',
  }),
  disable: endpoint('PATCH /api/scheduled-agents/{id}/disable', {
    ...one,
    operation: 'disable_scheduled_agent',
    summary: 'Switch a schedule off without deleting it',
  }),
  remove: endpoint('DELETE /api/scheduled-agents/{id}', {
    operation: 'delete_scheduled_agent',
    tag,
    summary: 'Delete a schedule; its past runs stay',
    params: IdParams,
    refuses: [403, 412, 503],
  }),
  trigger: endpoint('POST /api/scheduled-agents/{id}/trigger', {
    operation: 'trigger_scheduled_agent',
    access: 'run',
    tag,
    summary: 'Run a schedule now, enabled or not',
    params: IdParams,
    reply: ScheduleFire,
    status: 201,
    refuses: [403, 409, 503],
    idempotent: true,
  }),
  backfill: endpoint('POST /api/scheduled-agents/{id}/backfill', {
    operation: 'backfill_scheduled_agent',
    access: 'run',
    tag,
    summary: 'Run the due times of a past range that have no run',
    description: `Enabled or not. A due time with a run is left alone, so a repeated request continues where an earlier one failed. At most ${MOST_DUE_TIMES} due times.`,
    params: IdParams,
    body: ScheduleBackfill,
    reply: BackfilledSchedule,
    status: 201,
    refuses: [403, 503],
    idempotent: true,
  }),
  upcoming: endpoint('GET /api/scheduled-agents/{id}/upcoming', {
    operation: 'list_upcoming_due_times',
    tag,
    summary: 'List when a schedule is due next, as if it was enabled',
    params: IdParams,
    query: z.object({ count: QueryInt(1, MOST_DUE_TIMES, 5) }),
    reply: DueTimes,
    refuses: [403],
  }),
  preview: endpoint('POST /api/scheduled-agents/preview', {
    operation: 'preview_schedule',
    access: 'read',
    tag,
    summary: 'List when a schedule with these settings would be due, without saving one',
    body: SchedulePreview,
    reply: DueTimes,
  }),
  runs: endpoint('GET /api/scheduled-agents/{id}/runs', {
    operation: 'list_schedule_runs',
    tag,
    summary: 'List the outcome of each time the schedule was due, newest first',
    params: IdParams,
    query: ListQuery.omit({ cursor: true }).extend({ before: z.iso.datetime({ offset: true }).optional() }),
    reply: ScheduleFire,
    kind: 'page',
    refuses: [403],
  }),
};
