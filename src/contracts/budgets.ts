import { z } from 'zod';
import { JsonRecord, Name, protective, Timestamp, toPatchSchema, UntaggedQuery } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

/** The largest budget. No run reaches it, and sums of it are exact. */
const MOST_SPENT = 1_000_000_000_000;

export const Budget = protective(
  z.object({
    max_cost_usd: z.number().positive().max(MOST_SPENT).nullable().default(null),
    max_tokens: z.int().positive().max(MOST_SPENT).nullable().default(null),
    max_seconds: z.number().positive().max(MOST_SPENT).nullable().default(null),
    on_exhausted: z.enum(['wait', 'halt']).default('wait').meta({
      description: '`wait`: the run waits until someone raises its budget. `halt`: it ends, and keeps what it has',
    }),
  }),
).meta({
  id: 'Budget',
  description: 'The most that one run may use. It is checked before each request to a model',
  example: { max_cost_usd: 2.5, on_exhausted: 'wait' },
});

export const BUDGET_SCOPES = ['installation', 'person', 'service_key', 'agent', 'workflow', 'schedule'] as const;
const BUDGET_PERIODS = ['day', 'week', 'month'] as const;

/** The most budgets that one person may have made. */
export const MOST_BUDGETS = 100;

const Limits = {
  limit_usd: z.number().positive().max(MOST_SPENT).nullable().default(null).meta({ description: 'US dollars' }),
  limit_tokens: z.int().positive().max(MOST_SPENT).nullable().default(null),
  warn_at: z.array(z.number().positive().max(1)).max(64).default([0.8]).meta({
    description: 'Shares of the limit. A run reports `budget_warning` when one is reached, and prompts carry a warning',
  }),
  on_exhausted: z.enum(['wait', 'refuse']).default('wait').meta({
    description: 'Runs wait in both cases until there is room again; `refuse` also refuses new prompts with 429',
  }),
};

export const PeriodBudgetCreate = z
  .object({
    name: Name,
    scope: z.enum(BUDGET_SCOPES).meta({ description: 'Whose calls of models count' }),
    subject_id: z.string().min(1).max(300).nullable().default(null).meta({
      description:
        'The id of the service key, agent, workflow or schedule; of a person, `id` in `GET /api/me`. Null: you, or the installation',
    }),
    period: z.enum(BUDGET_PERIODS).meta({ description: 'A week begins on Monday' }),
    time_zone: z.string().min(1).max(64).default('UTC').meta({ description: 'IANA name', example: 'Europe/Berlin' }),
    ...Limits,
  })
  .meta({ id: 'PeriodBudgetCreate', example: { name: 'My day', scope: 'person', period: 'day', limit_usd: 50 } });

export const PeriodBudgetUpdate = toPatchSchema(z.object({ name: Name, ...Limits })).meta({
  id: 'PeriodBudgetUpdate',
  example: { limit_usd: 70 },
});

export const PeriodBudget = z
  .object({
    ...JsonRecord,
    ...PeriodBudgetCreate.shape,
    spent: z
      .number()
      .meta({ description: 'In this period, as far as calls have ended; in the unit of the limit, like `reserved` and `left`' }),
    reserved: z.number().meta({ description: 'What calls in progress are expected to use' }),
    left: z.number().meta({ description: 'The limit without what is spent and reserved; at least 0' }),
    used: z.number().meta({ description: 'The share of the limit that is spent' }),
    period_starts_at: Timestamp,
    period_ends_at: Timestamp,
  })
  .meta({ id: 'PeriodBudget' });
export type PeriodBudget = z.output<typeof PeriodBudget>;

const tag = 'Budgets';
const one = { tag, params: IdParams, reply: PeriodBudget };

export const budgets = {
  list: endpoint('GET /api/budgets', {
    operation: 'list_budgets',
    tag,
    summary: 'List the budgets that concern the caller, newest first',
    description: 'Those of the installation, of agents, and of what is yours; administrators see all.',
    query: UntaggedQuery,
    reply: PeriodBudget,
    kind: 'page',
  }),
  create: endpoint('POST /api/budgets', {
    operation: 'create_budget',
    tag,
    summary: 'Limit what is spent on models in a day, week or month',
    description:
      'Counts from now on. Set exactly one of `limit_usd` and `limit_tokens`. Administrators may limit everything, others what is theirs.',
    body: PeriodBudgetCreate,
    reply: PeriodBudget,
    status: 201,
    refuses: [403, 409],
    idempotent: true,
  }),
  get: endpoint('GET /api/budgets/{id}', { ...one, operation: 'get_budget', summary: 'Get a budget', refuses: [403] }),
  update: endpoint('PUT /api/budgets/{id}', {
    ...one,
    operation: 'update_budget',
    summary: 'Change a budget',
    description:
      'A field left out is unchanged. What is limited, the period and the unit stay: make another budget for that. Runs that fit a raised limit continue.',
    body: PeriodBudgetUpdate,
    refuses: [403, 412],
  }),
  remove: endpoint('DELETE /api/budgets/{id}', {
    operation: 'delete_budget',
    tag,
    summary: 'Delete a budget',
    description: 'Runs that wait for it continue.',
    params: IdParams,
    refuses: [403, 412],
  }),
};
