import { z } from 'zod';
import { isStorable, type Warning } from '../../contracts/common.ts';
import { AppError, type FieldError, unprocessable } from '../../domain/errors.ts';
import { findExcess } from './entries.ts';
import { findUnknownFields, listIdFields } from './fields.ts';
import { respell } from './spellings.ts';
import { withoutLimits } from './stored-replies.ts';

const DEEPEST = 64;

interface ParseOptions {
  /** The name of the value, such as `body`: the error path if the value as a whole is invalid. */
  what: string;
  /** The schema of the record. A client may send back its fields that only the service sets. */
  record_schema?: z.ZodType | null;
  /** True for an update: null is then a value, not an omitted field. */
  keeps_nulls?: boolean;
  /** The path of the value within the request. */
  base_path?: string;
  /** True for an import, whose top-level lists may be long. */
  large?: boolean;
  /** Loads the record to change; called if a field was sent under several names. */
  now?: unknown;
}

interface ParsedValue<T> {
  value: T;
  /** Warnings about fields that are never read. */
  warnings: Warning[];
}

/** Returns the parsed value; throws a 422 that lists every invalid field. */
export const parseValue = <S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> =>
  parseWithWarnings(schema, value, { what }).value;

/**
 * Returns the parsed value with warnings about ignored fields. Throws a 422 that lists every invalid field, and unknown fields of
 * protective settings.
 */
export function parseWithWarnings<S extends z.ZodType>(
  schema: S,
  input: unknown,
  options: ParseOptions,
): ParsedValue<z.output<S>> {
  const { base_path = '' } = options;
  const prefixPath = ({ path, message }: FieldError): FieldError => ({
    path: [base_path, path].filter(Boolean).join('.'),
    message,
  });
  const first_error = findExcess(schema, input, { path: [], large: options.large ?? false }) ?? findUnstorable(input, [], 0);
  if (first_error) throw unprocessable([prefixPath(first_error)]);
  const conflicts: FieldError[] = [];
  const { keeps_nulls = false, now } = options;
  const value = respell(schema, input, { keeps_nulls, now, refuse: (error) => conflicts.push(error) });
  const result = schema.safeParse(value);
  const unknown = findUnknownFields(schema, value).filter(({ path }) => !isSetByService(path, options.record_schema));
  const errors = [...conflicts, ...listErrors(result, options.what), ...unknown.filter((field) => field.is_refused)];
  if (!result.success || errors.length > 0) throw unprocessable(errors.map(prefixPath));
  return { value: result.data, warnings: unknown.map(prefixPath) };
}

/** True if a client may have received the field in a reply. */
const isSetByService = (path: string, reply: z.ZodType | null | undefined) =>
  reply instanceof z.ZodObject && (path in reply.shape || path === 'warnings');

/** The names that filter any list. If one were ignored on a list without that filter, the list would return everything. */
const FILTERS = new Set(
  ['q', 'tag', 'tags', 'status', 'workflow_id', 'agent_id', 'since', 'scope', 'source_id', 'content_type'].concat([
    'guardrail_type',
    'provider_id',
    'task_id',
    'include',
    'dry_run',
    'force',
  ]),
);

/** Warns about an unknown query parameter; refuses one that filters another list or looks like a misspelled filter. */
export function parseQuery<S extends z.ZodType>(schema: S, value: unknown): ParsedValue<z.output<S>> {
  refuseImpossibleIds(schema, value);
  const { value: query, warnings } = parseWithWarnings(schema, value, { what: 'query' });
  const meant = warnings.filter(({ path, message }) => FILTERS.has(path) || message.includes('did you mean'));
  if (meant.length > 0) throw unprocessable(meant);
  return { value: query, warnings };
}

/** Throws for a malformed id, which cannot name an existing record, as it does in a path. */
function refuseImpossibleIds(schema: z.ZodType, query: unknown): void {
  for (const [name, field] of listIdFields(schema)) {
    const value = Object(query)[name];
    if (typeof value === 'string' && !field.safeParse(value).success)
      throw new AppError('not_found', `\`${name}\` of the query is not a valid id, so nothing has it`);
  }
}

function listErrors(result: z.ZodSafeParseResult<unknown>, what: string): FieldError[] {
  if (result.success) return [];
  // Unknown names are reported separately, with the nearest known name.
  const issues = result.error.issues.filter(({ code }) => code !== 'unrecognized_keys');
  return issues.map(({ path, message }) => ({ path: path.join('.') || what, message }));
}

/** Finds text that the database cannot store, and excessive nesting. `path` is mutated during the walk and restored. */
function findUnstorable(value: unknown, path: string[], depth: number): FieldError | null {
  if (depth > DEEPEST) return { path: path.slice(0, 4).join('.'), message: `Nested more than ${DEEPEST} levels deep` };
  if (typeof value === 'string') return isStorable(value) ? null : unstorable(path);
  if (typeof value !== 'object' || value === null) return null;
  for (const key of Object.keys(value)) {
    if (!isStorable(key)) return unstorable([...path, 'key']);
    path.push(key);
    const error = findUnstorable((value as Record<string, unknown>)[key], path, depth + 1);
    if (error) return error;
    path.pop();
  }
  return null;
}

const unstorable = (path: readonly string[]): FieldError => ({
  path: path.join('.'),
  message: 'Contains a null character or invalid Unicode',
});

/** Returns the value as a reply shows it: fields that the contract does not name are dropped. */
export const toReply = <R extends z.ZodType>(reply: R, value: unknown): z.output<R> => withoutLimits(reply).parse(value);
