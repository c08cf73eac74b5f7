import { z } from 'zod';
import { Id, ListQuery, Name, patchOf, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

const INTERVAL_UNITS = ['minutes', 'hours', 'days', 'weeks'] as const;
const OVERLAP_POLICIES = ['skip', 'enqueue', 'interrupt'] as const;
const FIRE_OUTCOMES = ['firing', 'started', 'triggered', 'skipped', 'missed', 'failed'] as const;

/** Accepts any offset and returns UTC. The engine's time format cannot hold years far away. */
const Time = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .pipe(z.string().regex(/^(19[7-9]|2\d\d)\d-/, 'Name a year from 1970 to 2999'));

export const ScheduledAgentCreate = z
  .object({
    name: Name,
    workflow_id: Id.meta({ description: 'Workflow to run; must be your own' }),
    prompt: z.string().min(1).meta({ description: 'Sent at each run' }),
    interval_value: z.int().min(1).max(10_000),
    interval_unit: z.enum(INTERVAL_UNITS),
    start_at: Time.optional().meta({ description: 'The first run; left out: one interval from now' }),
    end_at: Time.nullable().default(null).meta({ description: 'No run after this time' }),
    overlap_policy: z
      .enum(OVERLAP_POLICIES)
      .default('skip')
      .meta({ description: 'What to do with a run that is due while the previous one is still running' }),
    catchup_window_seconds: z
      .int()
      .min(10)
      .max(365 * 86_400)
      .default(600)
      .meta({ description: 'How late a run may start after the service was down; a later one counts as missed' }),
  })
  .meta({ id: 'ScheduledAgentCreate' });

export const ScheduledAgentUpdate = patchOf(ScheduledAgentCreate.omit({ workflow_id: true })).meta({
  id: 'ScheduledAgentUpdate',
  example: { interval_value: 2, interval_unit: 'hours' },
});

export const ScheduledAgent = z
  .object({
    id: Id,
    name: z.string(),
    workflow_id: Id,
    prompt: z.string(),
    interval_value: z.int(),
    interval_unit: z.enum(INTERVAL_UNITS),
    start_at: Timestamp,
    end_at: Timestamp.nullable(),
    enabled: z.boolean(),
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
    outcome: z.enum(FIRE_OUTCOMES).meta({ description: 'triggered: by hand; skipped, missed, failed: made no task' }),
    detail: z.string().nullable().meta({ description: 'Why there is no task; while `firing`, why there is none yet' }),
    task_id: Id.nullable(),
    task_status: z.string().nullable(),
    fired_at: Timestamp,
  })
  .meta({ id: 'ScheduleFire' });
export type ScheduleFire = z.output<typeof ScheduleFire>;

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
    summary: 'Run a workflow at an interval',
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
    description: 'A field left out is unchanged; `end_at: null` removes the end.',
    body: ScheduledAgentUpdate,
    refuses: [403, 412, 503],
  }),
  enable: endpoint('PATCH /api/scheduled-agents/{id}/enable', {
    ...one,
    operation: 'enable_scheduled_agent',
    summary: 'Switch a schedule on',
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
    tag,
    summary: 'Run a schedule now, enabled or not',
    params: IdParams,
    reply: ScheduleFire,
    status: 201,
    refuses: [403, 409, 503],
    idempotent: true,
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
