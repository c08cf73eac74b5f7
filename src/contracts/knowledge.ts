import { z } from 'zod';
import {
  alsoTaken,
  FilterQuery,
  Id,
  JsonRecord,
  limitEntries,
  Name,
  Needs,
  otherNames,
  Tags,
  toPatchSchema,
  Warning,
} from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';

/** The types of knowledge source. Perdura stores `builtin` itself; the others are external databases. */
export const SOURCE_TYPES = ['builtin', 'vector_db', 'pgvector'] as const;

const Text = z.string().min(1);

/** The fields of `connection_config` that each type of source reads. */
export const SOURCE_CONFIGS = {
  builtin: z.object({}).meta({ id: 'BuiltinConnection' }),
  vector_db: z
    .object({ url: Text, collection: Text, api_key: z.string().nullish(), text_field: Text.nullish() })
    .meta({ id: 'QdrantConnection' }),
  pgvector: z
    .object({ url: Text, table: Text, text_column: Text.nullish(), embedding_column: Text.nullish() })
    .meta({ id: 'PgvectorConnection' }),
} as const satisfies { [type in (typeof SOURCE_TYPES)[number]]: z.ZodObject };

export const KnowledgeSourceCreate = z
  .object({
    name: Name.meta({ example: 'handbook' }),
    description: z.string().default(''),
    source_type: alsoTaken(z.enum(SOURCE_TYPES), { read: (type) => (type === 'mongo_db' ? 'builtin' : type) })
      .default('builtin')
      .meta({ description: 'builtin; vector_db: Qdrant; pgvector: another Postgres' }),
    connection_config: limitEntries(500, z.record(z.string(), z.unknown())).default({}).meta({
      description:
        'vector_db: url, collection, api_key, text_field. pgvector: url, table, text_column, embedding_column. builtin: nothing. A field that the type does not read, or lacks, is a warning. Values may hold {{token:NAME}}; secret values are returned masked.',
      example: {},
    }),
    tags: Tags,
  })
  .meta({ id: 'KnowledgeSourceCreate' });
export type KnowledgeSourceValues = z.output<typeof KnowledgeSourceCreate>;

export const KnowledgeSourceUpdate = toPatchSchema(KnowledgeSourceCreate).meta({ id: 'KnowledgeSourceUpdate' });

export const KnowledgeSource = z
  .object({
    ...JsonRecord,
    ...KnowledgeSourceCreate.shape,
    status: z.enum(['registered', 'connected', 'error']),
    last_error: z.string().nullable(),
    needs: Needs,
  })
  .meta({ id: 'KnowledgeSource' });
export type KnowledgeSource = z.output<typeof KnowledgeSource>;

const KnowledgeTest = z
  .object({
    success: z.boolean(),
    items: z.int().nullable().meta({ description: 'How many it holds, if that is known' }),
    embeddings: z
      .boolean()
      .meta({ description: 'Whether this installation has an embedding endpoint; if not, search is full-text only' }),
    error: z.string().nullable(),
  })
  .meta({ id: 'KnowledgeTest' });

export const knowledgeSources = {
  ...crud(
    { path: '/api/knowledge-sources', noun: 'knowledge source', tag: 'Knowledge', shared: true },
    { record: KnowledgeSource, create: KnowledgeSourceCreate, update: KnowledgeSourceUpdate },
  ),
  test: endpoint('POST /api/knowledge-sources/{id}/test', {
    operation: 'test_knowledge_source',
    access: 'run',
    tag: 'Knowledge',
    summary: 'Test whether a source can be searched',
    description: 'A 200 means that the test was made; `success` reports its result.',
    params: IdParams,
    reply: KnowledgeTest,
  }),
};

export const KnowledgeItemCreate = z
  .object({
    source_id: Id.meta({ description: 'A builtin source' }),
    name: Name.meta({ example: 'Travel policy' }),
    description: z.string().default(''),
    content: alsoTaken(z.string().min(1).meta({ example: 'Trains are booked in second class.' }), { names: ['text_content'] }),
    content_type: z.string().min(1).max(200).default('text/plain'),
    tags: Tags,
    metadata: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ id: 'KnowledgeItemCreate' });

export const KnowledgeItemUpdate = toPatchSchema(KnowledgeItemCreate).meta({ id: 'KnowledgeItemUpdate' });

const { content, ...shown } = KnowledgeItemCreate.shape;
const KnowledgeContent = z
  .object({ id: Id, name: z.string(), content_type: z.string(), content, ...otherNames({ content }) })
  .meta({ id: 'KnowledgeContent' });
export const KnowledgeItem = z
  .object({
    ...JsonRecord,
    ...shown,
    status: z.enum(['indexed', 'text_only']).meta({ description: 'text_only: found by its words only, see last_error' }),
    last_error: z.string().nullable(),
    chunks: z.int(),
  })
  .meta({ id: 'KnowledgeItem', description: 'Without its text; that is at /content' });
export type KnowledgeItem = z.output<typeof KnowledgeItem>;

const KnowledgeQuery = z
  .object({
    query: z
      .string()
      .max(10_000)
      .optional()
      .meta({ description: 'Left out: the newest items', example: 'Which class do we travel in?' }),
    tags: z.array(z.string()).optional().meta({ description: 'Any of them' }),
    source_ids: z.array(Id).optional(),
    limit: z.int().min(1).max(100).default(10),
  })
  .meta({ id: 'KnowledgeQuery' });

const KnowledgeFound = z
  .object({
    item_id: Id.nullable().meta({ description: 'Null for results from another database' }),
    source_id: Id,
    name: z.string(),
    tags: z.array(z.string()),
    position: z.int().meta({ description: 'Which chunk of the item' }),
    content: z.string().meta({ description: 'The chunk' }),
    score: z.number().meta({ description: '0 to 1' }),
    text_score: z.number().nullable(),
    vector_score: z.number().nullable(),
  })
  .meta({ id: 'KnowledgeFound' });
const KnowledgeAnswer = z
  .object({
    items: z.array(KnowledgeFound),
    warnings: z.array(Warning).meta({ description: 'Such as a search without vectors' }),
  })
  .meta({ id: 'KnowledgeAnswer' });

/** The fields of `KnowledgeUpload` as a form, for the OpenAPI document. */
const UploadForm = z.object({
  source_id: Id.meta({ description: 'A builtin source' }),
  name: Name.optional().meta({ description: 'Left out: the name of the file' }),
  tags: z.string().optional().meta({ description: 'Comma separated, or a JSON array' }),
});

/** The fields sent with an uploaded file. */
export const KnowledgeUpload = z.object({
  source_id: Id,
  name: Name.optional(),
  tags: z
    .string()
    .default('')
    .transform((text, { addIssue }) => {
      if (!text.trim().startsWith('[')) return text.split(',');
      try {
        return z.array(z.string()).parse(JSON.parse(text));
      } catch {
        addIssue({ code: 'custom', message: '`tags` must be comma separated, or a JSON array of text' });
        return [];
      }
    })
    .transform((tags) => tags.map((tag) => tag.trim()).filter(Boolean)),
});

const tag = 'Knowledge';

export const knowledgeItems = {
  ...crud(
    { path: '/api/knowledge-items', noun: 'knowledge item', tag, shared: true },
    {
      record: KnowledgeItem,
      create: KnowledgeItemCreate,
      update: KnowledgeItemUpdate,
      query: FilterQuery.extend({ source_id: Id.optional(), content_type: z.string().optional() }),
    },
  ),
  upload: endpoint('POST /api/knowledge-items/upload', {
    operation: 'upload_knowledge_item',
    tag,
    summary: 'Create an item from a file: pdf, docx, html, md, csv, txt, json',
    description:
      'The text is extracted from the file, split into chunks and embedded. Send `source_id`, `name` (default: the name of the file) and `tags` (comma separated) as further fields of the form or in the query.',
    query: z.object({ source_id: Id.optional(), name: z.string().optional(), tags: z.string().optional() }),
    upload: true,
    shared: true,
    form: UploadForm,
    reply: KnowledgeItem,
    status: 201,
    refuses: [409],
  }),
  content: endpoint('GET /api/knowledge-items/{id}/content', {
    operation: 'get_knowledge_content',
    tag,
    summary: "Get an item's text",
    params: IdParams,
    reply: KnowledgeContent,
  }),
  query: endpoint('POST /api/knowledge-items/query', {
    operation: 'query_knowledge',
    access: 'read',
    tag,
    summary: 'Search by words and by meaning',
    body: KnowledgeQuery,
    reply: KnowledgeAnswer,
  }),
};
