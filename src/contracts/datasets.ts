import { z } from 'zod';
import { Id, JsonRecord, ListQuery, Name, Timestamp, toPatchSchema, UntaggedQuery } from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';

export const MOST_ITEMS = 1_000;

export const DatasetCreate = z
  .object({ name: Name.meta({ example: 'Support questions' }), description: z.string().max(10_000).default('') })
  .meta({ id: 'DatasetCreate' });
export type DatasetValues = z.output<typeof DatasetCreate>;
export const DatasetUpdate = toPatchSchema(DatasetCreate).meta({ id: 'DatasetUpdate' });
export const Dataset = z
  .object({ ...JsonRecord, ...DatasetCreate.shape, item_count: z.int() })
  .meta({ id: 'Dataset', description: 'Prompts with their expected answers; private to its owner' });
export type Dataset = z.output<typeof Dataset>;

const Expected = z.unknown().meta({
  description: 'The expected answer: a JSON value, or text for markdown. null: there is none',
});

const ItemCreate = z
  .object({
    prompt: z.string().min(1).optional().meta({ description: "Left out with `task_id`: the run's" }),
    expected: Expected.optional().meta({ description: "Left out with `task_id`: the run's answer" }),
    task_id: Id.optional().meta({
      description: 'One of your runs, to take the prompt, the answer and the recorded tool results from',
    }),
  })
  .refine(({ prompt, task_id }) => prompt !== undefined || task_id !== undefined, {
    message: 'Give a `prompt`, or the `task_id` of a run to take it from',
    path: ['prompt'],
  })
  .meta({ id: 'DatasetItemCreate', example: { prompt: 'What is 6 × 7?', expected: '42' } });

const ItemCall = z.object({ name: z.string(), arguments: z.string(), content: z.string(), failed: z.boolean() });
export type ItemCall = z.output<typeof ItemCall>;

export const DatasetItem = z
  .object({
    id: Id,
    dataset_id: Id,
    prompt: z.string(),
    expected: Expected,
    calls: z.array(ItemCall).meta({ description: 'Tool calls with their results, which answer equal calls of an evaluation' }),
    source_task_id: Id.nullable().meta({ description: 'The run it was taken from' }),
    created_at: Timestamp,
  })
  .meta({ id: 'DatasetItem', description: 'It never changes: to correct one, delete it and add another' });
export type DatasetItem = z.output<typeof DatasetItem>;

const BundledCall = z.looseObject({
  name: z.string(),
  arguments: z.string(),
  status: z.string(),
  failed: z.boolean().nullable(),
  result: z.string().nullable(),
  answered_by: z.string().nullable(),
});

/** The part of a run bundle from which an item of a dataset is made. */
export const BundledItem = z
  .looseObject({
    format: z.literal('perdura-run'),
    version: z.literal(1),
    task: z.looseObject({ prompt: z.string().min(1) }),
    steps: z.array(z.looseObject({ tool_calls: z.array(BundledCall) })),
    end: z.looseObject({ response: z.unknown() }),
  })
  .meta({ id: 'DatasetBundle', description: 'The document of `GET /api/tasks/{id}/bundle`' });
export type BundledItem = z.output<typeof BundledItem>;

const tag = 'Datasets';
const base = crud(
  { path: '/api/datasets', noun: 'dataset', tag },
  { record: Dataset, create: DatasetCreate, update: DatasetUpdate, query: UntaggedQuery },
);
const refuses = [403];

export const datasets = {
  ...base,
  get: { ...base.get, refuses },
  update: { ...base.update, refuses: [...base.update.refuses, ...refuses] },
  remove: {
    ...base.remove,
    summary: 'Delete a dataset with its items and evaluations',
    description: 'The runs of its evaluations stay. 409 while an evaluation is running.',
    refuses: [...base.remove.refuses, ...refuses],
  },
  items: endpoint('GET /api/datasets/{id}/items', {
    operation: 'list_dataset_items',
    tag,
    summary: 'List the items of a dataset, newest first',
    params: IdParams,
    query: ListQuery,
    reply: DatasetItem,
    kind: 'page',
    refuses,
  }),
  addItem: endpoint('POST /api/datasets/{id}/items', {
    operation: 'create_dataset_item',
    tag,
    summary: 'Add an item, or a run as an item',
    description: `A dataset holds at most ${MOST_ITEMS} items.`,
    params: IdParams,
    body: ItemCreate,
    reply: DatasetItem,
    status: 201,
    refuses: [403, 409, 413],
    idempotent: true,
    stores: true,
  }),
  importBundle: endpoint('POST /api/datasets/{id}/items/import', {
    operation: 'import_dataset_item',
    tag,
    summary: 'Add the run of a bundle as an item',
    description: 'The bundle, a run as one JSON file from `GET /api/tasks/{id}/bundle`, may be of another installation.',
    params: IdParams,
    body: BundledItem,
    reply: DatasetItem,
    status: 201,
    refuses: [403, 409, 413],
    idempotent: true,
    stores: true,
    large: true,
  }),
  removeItem: endpoint('DELETE /api/datasets/{id}/items/{item_id}', {
    operation: 'delete_dataset_item',
    tag,
    summary: 'Delete an item with its results',
    description: 'The counts of evaluations stay. 409 while an evaluation of the dataset is running.',
    params: z.object({ id: Id, item_id: Id }),
    refuses: [403, 409],
  }),
};
