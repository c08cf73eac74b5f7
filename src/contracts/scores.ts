import { z } from 'zod';
import { Id, ListQuery, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

export const THUMBS = ['up', 'down'] as const;

/** The largest score. Sums of larger numbers would overflow, and the scores of a workflow could not be read. */
const FARTHEST = 1_000_000_000_000;

const fields = {
  thumb: z.enum(THUMBS).nullable().default(null),
  value: z
    .number()
    .min(-FARTHEST)
    .max(FARTHEST)
    .nullable()
    .default(null)
    .meta({ description: 'A number instead of a thumb, on any scale' }),
  note: z.string().max(10_000).default(''),
};

const ScoreCreate = z
  .object(fields)
  .refine(({ thumb, value }) => (thumb === null) !== (value === null), {
    message: 'Give either a `thumb` (up, down) or a `value` (a number)',
    path: ['thumb'],
  })
  .meta({ id: 'ScoreCreate', example: { thumb: 'down', note: 'It named the wrong month.' } });

export const Score = z
  .object({ id: Id, task_id: Id, ...fields, created_by: z.string(), created_at: Timestamp })
  .meta({ id: 'Score', description: 'What a person thinks of a run' });
export type Score = z.output<typeof Score>;

const VersionScores = z
  .object({
    definition_hash: z.string(),
    model: z.string().nullable(),
    runs: z.int(),
    completed: z.int(),
    scored: z.int().meta({ description: 'Runs that have a score' }),
    thumbs_up: z.int(),
    thumbs_down: z.int(),
    mean_value: z.number().nullable().meta({ description: 'Mean of the scores that are numbers' }),
    last_run_at: Timestamp,
  })
  .meta({ id: 'VersionScores' });
export type VersionScores = z.output<typeof VersionScores>;

const tag = 'Scores';

export const scores = {
  list: endpoint('GET /api/tasks/{id}/scores', {
    operation: 'list_task_scores',
    tag,
    summary: 'List the scores of a run, newest first',
    params: IdParams,
    query: ListQuery,
    reply: Score,
    kind: 'page',
    refuses: [403],
  }),
  create: endpoint('POST /api/tasks/{id}/scores', {
    operation: 'create_task_score',
    tag,
    summary: 'Score a run: a thumb or a number, with a note',
    params: IdParams,
    body: ScoreCreate,
    reply: Score,
    status: 201,
    refuses: [403, 409, 413],
    idempotent: true,
    stores: true,
  }),
  remove: endpoint('DELETE /api/tasks/{id}/scores/{score_id}', {
    operation: 'delete_task_score',
    tag,
    summary: 'Delete a score of a run',
    params: z.object({ id: Id, score_id: Id }),
    refuses: [403],
  }),
  byVersion: endpoint('GET /api/workflows/{id}/scores', {
    operation: 'get_workflow_scores',
    tag,
    summary: "Scores of a workflow's runs, by version",
    description:
      'A version is what runs are pinned with (`definition_hash` of a run). The version that ran last comes first. ' +
      'Runs of evaluations belong to their evaluation and are not counted here.',
    params: IdParams,
    reply: z.array(VersionScores),
    refuses: [403],
  }),
};
