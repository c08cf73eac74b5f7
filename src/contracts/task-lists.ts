import { z } from 'zod';
import { TASK_STATUSES } from '../domain/statuses.ts';
import { Id, ListQuery, Timestamp } from './common.ts';

export const TASK_SORTS = ['newest', 'oldest', 'cost', 'duration', 'tokens'] as const;
export type TaskSort = (typeof TASK_SORTS)[number];

const MOST_SEARCH_CHARACTERS = 500;

const Cost = z.coerce.number().min(0).optional();

export const TaskFilterQuery = z.object({
  status: z.enum(TASK_STATUSES).optional(),
  workflow_id: Id.optional(),
  agent_id: Id.optional(),
  thread_id: Id.optional().meta({ description: 'The turns of a conversation, of all its branches' }),
  since: z.iso.datetime({ offset: true }).optional().meta({ description: 'Created then or later' }),
  until: z.iso.datetime({ offset: true }).optional().meta({ description: 'Created before' }),
  error_code: z.string().optional(),
  model: z.string().optional(),
  tool: z.string().optional().meta({ description: 'Name of a tool that the run called' }),
  trigger: z.string().optional(),
  definition_hash: z.string().optional(),
  version: z.coerce.number().int().min(1).max(2_147_483_647).optional().meta({
    description: 'Number of a version of the workflow: needs `workflow_id`',
  }),
  min_cost: Cost.meta({ description: 'US dollars' }),
  max_cost: Cost.meta({ description: 'US dollars' }),
  q: z
    .string()
    .max(MOST_SEARCH_CHARACTERS)
    .optional()
    .meta({
      description:
        'Parts of the prompt, the answer, the error or the id: all of them, `"a phrase"`, `-without`, `this or that`. One or two letters ' +
        'are found at the beginning of a word. The first 50,000 characters of a text are searched',
    }),
});
export const TaskQuery = ListQuery.extend(TaskFilterQuery.shape).extend({
  sort: z.enum(TASK_SORTS).default('newest').meta({ description: 'By cost, duration or tokens: the largest first' }),
  count_to: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({
      description:
        'Count no more than this many: if `X-Total-Count` is this number, there may be more. Left out: all are counted, which takes ' +
        'a while if hundreds of thousands match',
    }),
});

/** Refuses `version` without `workflow_id`: version numbers count within one workflow. */
export const versionsNamed = <S extends typeof TaskFilterQuery>(query: S): S =>
  query.refine((filter) => filter.version === undefined || filter.workflow_id !== undefined, {
    message: 'Send `workflow_id` with `version`, or the `definition_hash` of the version instead',
    path: ['version'],
  });

export const ErrorGroup = z
  .object({
    error_code: z.string(),
    runs: z.int(),
    last_task_id: Id,
    last_error: z.string().nullable(),
    last_at: Timestamp,
  })
  .meta({ id: 'ErrorGroup' });
