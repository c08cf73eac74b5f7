import { z } from 'zod';
import './words.ts';

/** An id that the service issued: a UUID in lower case. Anything else cannot be an id, so paths answer 404 for it. */
export const Id = z
  .uuid()
  .meta({ description: 'Identifier issued by the service (UUIDv7)', example: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001' });

export const Timestamp = z.iso.datetime().meta({ description: 'ISO 8601, UTC', example: '2026-01-31T12:00:00.000Z' });

export const WebUrl = z.url({ protocol: /^https?$/ });

export const Name = z.string().min(1).max(200);

export const Tags = z.array(z.string().max(200)).default([]);

/** True if a text can be stored: Postgres accepts neither the null character nor half a surrogate pair. */
export const isStorable = (text: string) => !text.includes('\u0000') && text.isWellFormed();

/** The largest schema of one tool; MCP servers have the same limit. Every request to a model carries the schemas. */
const TOOL_SCHEMA_CHARACTERS = 64_000;

/** Limits the JSON schema of a tool's parameters to the length that a model can be given. */
export const toolSchema = <S extends z.ZodType>(schema: S) =>
  schema.refine((value) => JSON.stringify(value).length <= TOOL_SCHEMA_CHARACTERS, {
    message: `The schema of a tool may have ${TOOL_SCHEMA_CHARACTERS} characters`,
  });

export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What went wrong and what to do, as a sentence' }),
    code: z.string().meta({ description: 'Stable word for machines' }),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details' });

/** The reply to a request that was refused with 422: its invalid fields. */
export const FieldsProblem = z
  .object({ ...Problem.shape, errors: Problem.shape.errors.unwrap().meta({ description: 'Each fault at its dotted path' }) })
  .meta({ id: 'FieldsProblem', description: 'RFC 9457 problem details, with the fields that are not valid' });

/** A warning about something in a request that may not do what its sender meant. The request itself succeeded. */
export const Warning = z
  .object({ path: z.string().meta({ description: 'Dotted path of the field' }), message: z.string() })
  .meta({ id: 'Warning', example: { path: 'api_key', message: '`api_key` is not a field of a provider' } });
export type Warning = z.output<typeof Warning>;

/** The stored tokens that a resource names. Replies carry them; they depend on the reader, so `ETag` does not cover them. */
export const Needs = z.array(z.string()).optional().meta({
  description: 'Stored tokens it names that you cannot use: they do not exist, or are not yours. Runs refuse it',
});

const entryLimits = z.registry<{ most: number }>();

/** Sets how many entries a map or list may have, or how many values untyped JSON may hold, if the general limit does not fit. */
export function limitEntries<S extends z.ZodType>(most: number, schema: S): S {
  entryLimits.add(schema, { most });
  return schema;
}

export const entryLimit = (schema: z.ZodType): number | undefined => entryLimits.get(schema)?.most;

const protections = z.registry<object>();

/**
 * Marks what protects. A marked object refuses unknown fields. For a marked field, a name that is nearly the same is
 * refused. Everywhere else an unknown field is a warning.
 */
export function protective<S extends z.ZodType>(schema: S): S {
  const marked = (schema instanceof z.ZodObject ? schema.strict() : schema) as S;
  protections.add(marked, {});
  return marked;
}

export const isProtective = (schema: z.ZodType): boolean => protections.has(schema);

/** Other spellings that clients of this interface are known to send. Perdura reads each as its own spelling. */
interface Spellings {
  /** Other names of the field. Replies that spread `otherNames` carry its value under them, too. */
  names?: string[];
  /**
   * Returns the one name that stands for this kind of record, if each name stands for one kind. Replies carry null under the
   * others.
   */
  nameFor?: (record: Record<string, unknown>) => string;
  /** Maps the value to Perdura's own form; returns an unknown value unchanged. */
  read?: (value: unknown) => unknown;
}
const spellings = z.registry<Spellings>();

/** Also accepts the field under other names, or its value in other forms. docs/resources.md lists them. */
export function alsoTaken<S extends z.ZodType>(schema: S, more: Spellings): S {
  spellings.add(schema, more);
  return schema;
}

export const fieldAliases = (schema: z.ZodType): Spellings => spellings.get(schema) ?? {};

/** Returns the spellings of a schema, or of the schema that it wraps. */
export function getSpellings(schema: z.ZodType): Spellings {
  const own = fieldAliases(schema);
  if (own.names || own.read) return own;
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return wraps ? getSpellings(schema.unwrap() as z.ZodType) : {};
}

const foreign = new WeakMap<z.ZodRawShape, ReadonlyMap<string, readonly string[]>>();

/** Returns the other names of each field that has any. If several fields claim a name, the first one has it. */
export function foreignNames(shape: z.ZodRawShape): ReadonlyMap<string, readonly string[]> {
  const found = foreign.get(shape);
  if (found) return found;
  const taken = new Set<string>();
  const made = new Map<string, readonly string[]>();
  for (const [own, field] of Object.entries(shape)) {
    const names = (getSpellings(field as z.ZodType).names ?? []).filter((name) => !taken.has(name));
    for (const name of names) taken.add(name);
    if (names.length > 0) made.set(own, names);
  }
  foreign.set(shape, made);
  return made;
}

/** Returns reply fields for the other names of a body's fields, so that clients may send back what they have read under them. */
export function otherNames(shape: z.ZodRawShape): Record<string, z.ZodOptional<z.ZodNullable<z.ZodType>>> {
  const named = [...foreignNames(shape)].flatMap(([own, names]) =>
    names.map((name) => [own, name, shape[own] as z.ZodType] as const),
  );
  const same = (own: string, field: z.ZodType) => {
    const description = `The same as \`${own}\`, for other clients of this interface`;
    const kind = getSpellings(field).nameFor ? '; null in a record of another kind' : '';
    const bare = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field;
    return bare
      .nullable()
      .optional()
      .meta({ description: description + kind });
  };
  return Object.fromEntries(named.map(([own, name, field]) => [name, same(own, field)]));
}

/** A whole number in a query string. */
export const QueryInt = (min: number, max: number, fallback: number) =>
  z.coerce.number().int().min(min).max(max).default(fallback);

/** A boolean in a query string. */
export const QueryFlag = (description: string) =>
  z
    .stringbool()
    .default(false)
    .meta({ description, override: { type: 'boolean', default: false } });

export const ListQuery = z.object({
  limit: QueryInt(1, 1000, 1000).meta({ description: 'Items per page' }),
  cursor: z.string().optional().meta({ description: 'Opaque; from the Link header of the previous page' }),
});

export const FilterQuery = ListQuery.extend({
  q: z.string().optional().meta({ description: 'Part of the name or description' }),
  tag: z.string().optional().meta({ description: 'One tag' }),
  tags: z.string().optional().meta({ description: 'Comma separated; any of them' }),
});
/** The list query of resources that have no tags. */
export const UntaggedQuery = FilterQuery.omit({ tag: true, tags: true });

export type FilterQuery = z.output<typeof FilterQuery>;

/** The fields that every shared resource stores. */
export const JsonRecord = { id: Id, created_by: z.string(), created_at: Timestamp, updated_at: Timestamp };

export const TOOL_EFFECTS = ['read', 'idempotent', 'write'] as const;

type Bare<F> = F extends z.ZodDefault<infer I> ? I : F;
type PatchShape<S extends z.ZodRawShape> = { [K in keyof S]: z.ZodOptional<Bare<S[K]> extends z.ZodType ? Bare<S[K]> : never> };

/** Makes every field optional and fills in no default, so that a key that was not sent stays absent. */
export function toPatchSchema<S extends z.ZodRawShape>(schema: z.ZodObject<S>): z.ZodObject<PatchShape<S>> {
  const bare = (field: z.ZodType) => (field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field);
  const shape = Object.entries(schema.shape).map(([name, field]) => [name, bare(field as z.ZodType).optional()]);
  return z.object(Object.fromEntries(shape) as PatchShape<S>);
}

/** Limits of one exchange with a model. */
export const ExchangeLimitFields = {
  model_total_seconds: z.int().min(1).max(7_200).nullable().default(null).meta({
    description:
      'The most seconds that one request to a model may take. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_TOTAL_SECONDS`)',
  }),
  model_silence_seconds: z.int().min(1).max(3_600).nullable().default(null).meta({
    description:
      'The most seconds in which nothing of an answer arrives. Null: a workflow uses the limit of its provider, a provider that of the installation (`MODEL_SILENCE_SECONDS`)',
  }),
};
