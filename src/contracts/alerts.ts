import { z } from 'zod';
import { ALERT_CHANNELS, ALERT_MEASURES, ALERT_STATES } from '../domain/statuses.ts';
import { Id, ListQuery, Name, Timestamp, toPatchSchema, UntaggedQuery, WebUrl } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

/** The most alerts of one principal. */
export const MOST_ALERTS = 50;
/** The most events (fired and resolved) that are kept of one alert; older ones are removed. */
export const KEPT_ALERT_EVENTS = 200;
const DAYS_MINUTES = 7 * 24 * 60;
const MOST_CHANNELS = 64;
const MOST_RECIPIENTS = 64;
/** The most addresses of one alert, all recipients counted. */
export const MOST_ADDRESSES = 100;

const ChannelUrl = WebUrl.max(2_000).meta({
  description: 'Replies show only its host, since it may hold a key; send it back as it is shown to keep it',
});
const byUrl = <T extends string>(type: T, description: string) =>
  z.object({ type: z.literal(type).meta({ description }), url: ChannelUrl });

export const AlertChannel = z
  .discriminatedUnion('type', [
    byUrl('webhook', 'A signed message, as to `webhook_url`'),
    byUrl('slack', 'An incoming webhook of Slack'),
    byUrl('teams', 'A webhook of a workflow in Microsoft Teams'),
    byUrl('discord', 'A webhook of a channel in Discord'),
    z.object({
      type: z.literal('email').meta({ description: 'An e-mail to each recipient. The operator decides which ones are allowed' }),
      to: z.array(z.email().max(254)).min(1).max(MOST_RECIPIENTS).meta({ description: 'The recipients' }),
    }),
  ])
  .meta({ id: 'AlertChannel' });
export type AlertChannel = z.output<typeof AlertChannel>;

export const AlertCreate = z
  .object({
    name: Name,
    measure: z.enum(ALERT_MEASURES).meta({
      description:
        'failure_rate: percent of the completed and failed runs that failed; spend: US dollars; waiting: minutes that a run ' +
        'has waited for a person; provider_errors: failed requests to models; backlog: runs that wait for an earlier run of their workflow; budget: ' +
        'percent of a budget that is spent in its present period, 100 also while runs wait because too little is left',
    }),
    threshold: z.number().positive().max(1e9).meta({ description: 'The alert fires when the measure reaches it' }),
    window_minutes: z.int().min(1).max(DAYS_MINUTES).default(60).meta({
      description: 'The time that failure_rate, spend and provider_errors look back; the others look at the present',
    }),
    min_runs: z.int().min(1).max(100_000).default(5).meta({
      description: 'Until this many runs have ended in the window, failure_rate counts as 0',
    }),
    workflow_id: Id.nullable().default(null).meta({ description: 'Null: all your workflows' }),
    budget_id: Id.nullable()
      .default(null)
      .meta({ description: 'The budget that the measure `budget` watches; no other measure has one' }),
    webhook_url: WebUrl.max(2_000)
      .nullable()
      .default(null)
      .meta({ description: 'Receives a message when the alert fires or is resolved' }),
    channels: z
      .array(AlertChannel)
      .max(MOST_CHANNELS)
      .default([])
      .meta({ description: 'Further places that receive a message when the alert fires or is resolved' }),
    enabled: z.boolean().default(true),
    muted_until: Timestamp.nullable().default(null).meta({ description: 'Until then nothing is sent; the history continues' }),
  })
  .meta({ id: 'AlertCreate', example: { name: 'Many failures', measure: 'failure_rate', threshold: 20 } });

export const AlertUpdate = toPatchSchema(AlertCreate).meta({ id: 'AlertUpdate', example: { threshold: 30 } });

export const Alert = z
  .object({
    id: Id,
    ...AlertCreate.shape,
    state: z.enum(ALERT_STATES),
    state_since: Timestamp,
    last_value: z.number().nullable().meta({ description: 'What was measured last' }),
    measured_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Alert' });
export type Alert = z.output<typeof Alert>;

const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;

const AlertEvent = z
  .object({
    id: Id,
    state: z.enum(ALERT_STATES).meta({ description: 'firing: it fired; ok: it was resolved' }),
    value: z.number(),
    threshold: z.number(),
    muted: z.boolean(),
    at: Timestamp,
    delivery_status: z
      .enum(DELIVERY_STATUSES)
      .nullable()
      .meta({ description: 'pending: more attempts follow; failed: given up; null: nothing was sent' }),
    delivery_attempts: z.int(),
    delivery_error: z.string().nullable().meta({ description: 'Of the last attempt' }),
    deliveries: z
      .array(
        z.object({
          channel: z.enum(ALERT_CHANNELS),
          to: z.string().meta({ description: 'The host or the recipient' }),
          status: z.enum(DELIVERY_STATUSES),
          attempts: z.int(),
          error: z.string().nullable().meta({ description: 'Of the last attempt' }),
        }),
      )
      .meta({
        description: 'One for each address. `delivery_status` and the like sum them up: pending or failed if one of them is',
      }),
  })
  .meta({ id: 'AlertEvent' });
export type AlertEvent = z.output<typeof AlertEvent>;

const TestResult = z.object({
  channel: z.enum(ALERT_CHANNELS),
  to: z.string().meta({ description: 'The host or the recipient' }),
  delivered: z.boolean(),
  error: z.string().nullable(),
});

const tag = 'Alerts';
const one = { tag, params: IdParams, reply: Alert };

export const alerts = {
  list: endpoint('GET /api/alerts', {
    operation: 'list_alerts',
    tag,
    summary: "List the caller's alerts, newest first",
    query: UntaggedQuery,
    reply: Alert,
    kind: 'page',
  }),
  create: endpoint('POST /api/alerts', {
    operation: 'create_alert',
    tag,
    summary: 'Watch a measure of your runs',
    description: `Measured by the minute. At most ${MOST_ALERTS} for each person.`,
    body: AlertCreate,
    reply: Alert,
    status: 201,
    refuses: [403, 409],
    idempotent: true,
  }),
  get: endpoint('GET /api/alerts/{id}', { ...one, operation: 'get_alert', summary: 'Get an alert', refuses: [403] }),
  update: endpoint('PUT /api/alerts/{id}', {
    ...one,
    operation: 'update_alert',
    summary: 'Change an alert',
    description: 'A field left out is unchanged. Disabling it ends its firing state without a message.',
    body: AlertUpdate,
    refuses: [403, 412],
  }),
  remove: endpoint('DELETE /api/alerts/{id}', {
    operation: 'delete_alert',
    tag,
    summary: 'Delete an alert with its history',
    params: IdParams,
    refuses: [403, 412],
  }),
  test: endpoint('POST /api/alerts/{id}/test', {
    operation: 'test_alert',
    tag,
    summary: 'Send a test message to each address of an alert, once',
    description: 'The messages have the type `alert.test`. They are not repeated, and are not in the history.',
    params: IdParams,
    reply: z.object({ results: z.array(TestResult) }).meta({ id: 'AlertTest' }),
    refuses: [403, 409],
  }),
  events: endpoint('GET /api/alerts/{id}/events', {
    operation: 'list_alert_events',
    tag,
    summary: 'List when an alert fired and was resolved, newest first',
    description: `The newest ${KEPT_ALERT_EVENTS} are kept.`,
    params: IdParams,
    query: ListQuery,
    reply: AlertEvent,
    kind: 'page',
    refuses: [403],
  }),
};
