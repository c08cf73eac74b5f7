import { z } from 'zod';
import { Id, ListQuery, protective, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { ModelName } from './model-name.ts';

const EVALUATION_EFFECTS = ['recorded', 'stub'] as const;
const EVALUATION_STATUSES = ['running', 'completed', 'halted'] as const;
export const RESULT_STATUSES = ['pending', 'running', 'passed', 'failed', 'error', 'halted'] as const;
const MOST_PARALLEL = 16;
const MOST_GRADERS = 64;
const LONGEST_INSTRUCTIONS = 20_000;

const Exact = protective(
  z.object({
    type: z.literal('exact').meta({ description: "The answer equals the item's `expected`; space around texts does not count" }),
    ignore_case: z.boolean().default(false),
  }),
).meta({ id: 'ExactGrader' });
const Regex = protective(
  z.object({
    type: z.literal('regex').meta({ description: 'The answer contains a match' }),
    pattern: z.string().min(1).meta({ description: 'RE2 syntax, as in guardrails' }),
  }),
).meta({ id: 'RegexGrader' });
const JsonSchema = protective(
  z.object({
    type: z.literal('json_schema').meta({ description: 'The answer is JSON that the schema accepts' }),
    json_schema: z.record(z.string(), z.unknown()),
  }),
).meta({ id: 'JsonSchemaGrader' });

const Model = protective(
  z.object({
    type: z.literal('model').meta({
      description:
        'A model judges the answer. Each judgement is a run with the trigger `evaluation`, which is paid for like any other',
    }),
    provider_id: Id.nullable().default(null).meta({ description: 'Null selects the default runtime' }),
    model: ModelName.meta({ description: "Null: the provider's default model" }),
    instructions: z
      .string()
      .min(1)
      .max(LONGEST_INSTRUCTIONS)
      .default('The answer means the same as the expected one.')
      .meta({ description: 'What makes an answer right' }),
    pass_at: z.number().min(0).max(1).optional().meta({
      description: 'The judge gives a score from 0 to 1, which passes from here on. Left out: it decides between pass and fail',
    }),
  }),
).meta({ id: 'ModelGrader' });
const Python = protective(
  z.object({
    type: z.literal('python').meta({
      description:
        'One of your custom tools is called with those of `prompt`, `answer` and `expected` that it takes, and returns true, false or ' +
        '`{"pass": …, "reason": …}`',
    }),
    tool_id: Id,
  }),
).meta({ id: 'PythonGrader' });

export const Grader = z.discriminatedUnion('type', [Exact, Regex, JsonSchema, Model, Python]).meta({ id: 'Grader' });
export type Grader = z.output<typeof Grader>;

const SOME_WORKFLOW = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

export const EvaluationCreate = z
  .object({
    workflow_id: Id,
    definition_hash: z.string().optional().meta({
      description:
        'A version of the workflow: the `definition_hash` of the version, or of one of its runs. Left out: the workflow as it is now',
    }),
    graders: z.array(Grader).min(1).max(MOST_GRADERS).meta({ description: 'An item passes if all of them accept the answer' }),
    effects: z
      .enum(EVALUATION_EFFECTS)
      .default('recorded')
      .meta({
        description:
          '`recorded`: a call that the item has on record gets the recorded result; any other `write` call is refused, and any other ' +
          'call is executed. `stub`: no tool is called',
      }),
    parallel: z.int().min(1).max(MOST_PARALLEL).default(4).meta({ description: 'Runs at once' }),
    baseline_id: Id.optional().meta({
      description:
        'The evaluation of this dataset to find regressions against. Left out: the last completed one of the same workflow',
    }),
  })
  .meta({ id: 'EvaluationCreate', example: { workflow_id: SOME_WORKFLOW, graders: [{ type: 'exact' }], effects: 'stub' } });
export type EvaluationValues = z.output<typeof EvaluationCreate>;

export const Evaluation = z
  .object({
    id: Id,
    dataset_id: Id,
    workflow_id: Id,
    workflow_title: z.string().nullable(),
    definition_hash: z.string().meta({ description: 'The version' }),
    model: z.string().nullable(),
    graders: z.array(Grader),
    effects: z.enum(EVALUATION_EFFECTS),
    parallel: z.int(),
    baseline_id: Id.nullable(),
    status: z.enum(EVALUATION_STATUSES),
    items: z.int(),
    passed: z.int(),
    failed: z.int(),
    errors: z.int().meta({ description: 'Items whose run did not complete, or that a grader could not grade' }),
    pass_rate: z.number().nullable().meta({ description: 'passed / items; null unless the evaluation is completed' }),
    created_at: Timestamp,
    completed_at: Timestamp.nullable(),
  })
  .meta({ id: 'Evaluation', description: 'A version of a workflow, run over all items of a dataset' });
export type Evaluation = z.output<typeof Evaluation>;

const Regression = z
  .object({
    item_id: Id,
    prompt: z.string(),
    status: z.enum(RESULT_STATUSES),
    task_id: Id.nullable(),
    baseline_task_id: Id.nullable(),
  })
  .meta({ id: 'Regression', description: 'An item that passed in the baseline and does not pass now' });

const EvaluationDetail = Evaluation.extend({ regressions: z.array(Regression) }).meta({ id: 'EvaluationDetail' });
export type EvaluationDetail = z.output<typeof EvaluationDetail>;

export const Grade = z.object({
  grader: z.string(),
  passed: z.boolean(),
  reason: z.string().nullable(),
  score: z.number().optional().meta({ description: 'Of a `model` grader with `pass_at`' }),
  task_id: Id.optional().meta({ description: 'The run of the judge' }),
});
export type Grade = z.output<typeof Grade>;

const EvaluationResult = z
  .object({
    item_id: Id,
    prompt: z.string(),
    expected: z.unknown(),
    task_id: Id.nullable().meta({ description: 'The run' }),
    answer: z.unknown().meta({ description: "The run's answer; null if it has none, or was deleted" }),
    status: z.enum(RESULT_STATUSES),
    grades: z.array(Grade),
    error: z.string().nullable().meta({ description: 'Why the item has neither passed nor failed' }),
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: 'EvaluationResult' });
export type EvaluationResult = z.output<typeof EvaluationResult>;

const tag = 'Datasets';
const RunParams = z.object({ id: Id, run_id: Id });

export const evaluations = {
  list: endpoint('GET /api/datasets/{id}/runs', {
    operation: 'list_evaluations',
    tag,
    summary: 'List the evaluations of a dataset, newest first',
    params: IdParams,
    query: ListQuery.extend({ workflow_id: Id.optional(), definition_hash: z.string().optional() }),
    reply: Evaluation,
    kind: 'page',
    refuses: [403],
  }),
  create: endpoint('POST /api/datasets/{id}/runs', {
    operation: 'create_evaluation',
    access: 'run',
    tag,
    summary: 'Run a dataset against a version of a workflow',
    description:
      'Starts a durable run for each item, `parallel` at once, and grades the answers. The runs are ordinary runs with the trigger ' +
      '`evaluation`, each in a separate workflow. They send no webhooks and store no automatic memories; models are called and paid for.',
    params: IdParams,
    body: EvaluationCreate,
    reply: Evaluation,
    status: 201,
    refuses: [403, 409, 503],
    idempotent: true,
  }),
  get: endpoint('GET /api/datasets/{id}/runs/{run_id}', {
    operation: 'get_evaluation',
    tag,
    summary: 'Get an evaluation, with its regressions',
    params: RunParams,
    reply: EvaluationDetail,
    refuses: [403],
  }),
  results: endpoint('GET /api/datasets/{id}/runs/{run_id}/results', {
    operation: 'list_evaluation_results',
    tag,
    summary: 'List the results of an evaluation by item, newest item first',
    params: RunParams,
    query: ListQuery.extend({ status: z.enum(RESULT_STATUSES).optional() }),
    reply: EvaluationResult,
    kind: 'page',
    refuses: [403],
  }),
  halt: endpoint('POST /api/datasets/{id}/runs/{run_id}/halt', {
    operation: 'halt_evaluation',
    access: 'run',
    tag,
    summary: 'Halt an evaluation and its runs',
    params: RunParams,
    reply: z.object({ status: z.literal('halt_requested') }).meta({ id: 'EvaluationHaltRequested' }),
    status: 202,
    refuses: [403, 409, 503],
  }),
};
