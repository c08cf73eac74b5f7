import { z } from 'zod';
import { QueryInt } from './common.ts';
import { endpoint } from './endpoint.ts';

export const USAGE_GROUPS = ['agent', 'workflow', 'model', 'provider', 'owner', 'trigger'] as const;
const DAY_MS = 24 * 3_600_000;
const MOST_DAYS = 400;
/** The most hours or days in one reply. */
const MOST_INTERVALS = 1_000;

const At = z.iso.datetime({ offset: true });

const isZone = (zone: string) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }) !== null;
  } catch {
    return false;
  }
};

const PeriodQuery = z.object({
  from: At.optional().meta({ description: 'Begin of the period, rounded down to the hour; a week before its end if left out' }),
  to: At.optional().meta({ description: 'End of the period; now if left out' }),
  scope: z.enum(['mine', 'all']).default('mine').meta({ description: "`all`: everybody's runs, for administrators" }),
});

const buildMostQuery = (fallback: number) => QueryInt(1, 200, fallback);

interface Period {
  from?: string | undefined;
  to?: string | undefined;
}

/** Returns the period that a query names, in milliseconds since 1970. */
export function parsePeriod({ from, to }: Period): { from: number; to: number } {
  const end = Date.parse(to ?? new Date().toISOString());
  return { from: from ? Date.parse(from) : end - 7 * DAY_MS, to: end };
}

const getPeriodLength = (period: Period) => parsePeriod(period).to - parsePeriod(period).from;
// An invalid time makes the length NaN, which passes here: the time's own schema refuses it.
const isInOrder = (period: Period) => !(getPeriodLength(period) <= 0);
const isShort = (period: Period) => !(getPeriodLength(period) > MOST_DAYS * DAY_MS);
const inOrder = { message: '`from` must be before `to`', path: ['from'] };
const short = { message: `A period may have ${MOST_DAYS} days`, path: ['from'] };

const UsageQuery = PeriodQuery.extend({
  by: z.enum(USAGE_GROUPS).optional().meta({ description: 'One row for each; by `owner` only with `scope=all`' }),
  interval: z.enum(['hour', 'day']).optional().meta({ description: 'One row for each of them in which a run ended' }),
  zone: z.string().refine(isZone, 'Not a time zone, such as Europe/Berlin').default('UTC').meta({
    description: 'The time zone in which days begin. Usage is kept by the hour in UTC',
  }),
  most: buildMostQuery(20).meta({
    description: 'Groups in the reply, those with the highest cost; all others are one group with the key null',
  }),
})
  .refine(isInOrder, inOrder)
  .refine(isShort, short)
  .refine(({ interval, ...period }) => interval !== 'hour' || !(getPeriodLength(period) > (MOST_INTERVALS * DAY_MS) / 24), {
    message: `A period by the hour may have ${MOST_INTERVALS} hours`,
    path: ['interval'],
  });

const counts = {
  runs: z.int().meta({ description: 'Runs that ended' }),
  completed: z.int(),
  failed: z.int(),
  halted: z.int(),
  estimated: z.int().meta({ description: 'Runs whose usage is partly an estimate, since an endpoint did not report it' }),
  total_in: z.int().meta({ description: 'Input tokens' }),
  total_out: z.int().meta({ description: 'Output tokens' }),
  cache_read: z.int(),
  cache_write: z.int(),
  premium_requests: z.int(),
  cost: z
    .number()
    .nullable()
    .meta({ description: 'US dollars of what has a price; null: nothing has one, so the cost is unknown' }),
  unpriced: z.int().meta({ description: 'Runs whose cost is partly or wholly unknown, since a model had no price' }),
};

const UsageRow = z
  .object({
    key: z.string().nullable().meta({
      description: 'Id or name of the group; null: all groups beyond the largest ones, and runs without their own workflow',
    }),
    label: z.string().nullable().meta({ description: 'What people call the group; null if it no longer exists' }),
    at: z.iso.datetime().nullable().meta({ description: 'Begin of the hour or day; null without `interval`' }),
    ...counts,
  })
  .meta({ id: 'UsageRow' });
export type UsageRow = z.output<typeof UsageRow>;

const bounds = { from: z.iso.datetime(), to: z.iso.datetime() };

const CallRow = z.object({
  name: z.string(),
  calls: z.int(),
  failed: z.int(),
  error_rate: z.number().meta({ description: 'failed / calls' }),
  p50_ms: z.int().meta({ description: 'At most 5 % off, as the other percentiles' }),
  p95_ms: z.int(),
  p99_ms: z.int(),
});
const ToolRow = CallRow.meta({ id: 'ToolUsageRow' });
const ModelRow = CallRow.extend({
  total_in: counts.total_in,
  total_out: counts.total_out,
  cost: counts.cost,
  unpriced: z.int().meta({ description: 'Calls whose cost is unknown' }),
}).meta({
  id: 'ModelUsageRow',
});

const CallsQuery = PeriodQuery.extend({ most: buildMostQuery(100).meta({ description: 'Rows, those with the most calls' }) })
  .refine(isInOrder, inOrder)
  .refine(isShort, short);

const tag = 'Usage';

export const usage = {
  get: endpoint('GET /api/usage', {
    operation: 'get_usage',
    tag,
    summary: 'What runs spent and how they ended',
    description:
      'Counts runs that have ended, by the hour in which they ended. Deleted runs still count. ' +
      'By `model` and by `provider`, a run that several answered counts as a run of each, with the tokens and the cost of its answers. ' +
      'Without `by` and `interval` the reply has one row.',
    query: UsageQuery,
    reply: z.object({ ...bounds, rows: z.array(UsageRow) }).meta({ id: 'UsageReport' }),
    refuses: [403],
  }),
  tools: endpoint('GET /api/usage/tools', {
    operation: 'get_tool_usage',
    tag,
    summary: 'How often tools were called, how long they took and how often they failed',
    description: 'Calls of runs that have ended. Results that a fork took from its source run are not calls.',
    query: CallsQuery,
    reply: z.object({ ...bounds, rows: z.array(ToolRow) }).meta({ id: 'ToolUsage' }),
    refuses: [403],
  }),
  models: endpoint('GET /api/usage/models', {
    operation: 'get_model_usage',
    tag,
    summary: 'How often models were called, how long they took and how often they failed',
    description: 'Calls of runs that have ended. A call that was tried again counts once, as failed.',
    query: CallsQuery,
    reply: z.object({ ...bounds, rows: z.array(ModelRow) }).meta({ id: 'ModelUsage' }),
    refuses: [403],
  }),
};
