import { z } from 'zod';
import { entryLimit } from '../../contracts/common.ts';
import type { FieldError } from '../../domain/errors.ts';
import { unwrapSchema } from './fields.ts';

/**
 * The most entries of a map, or items of a list, that are checked, sealed, looked up or warned about one by one. A schema may set
 * another limit.
 */
const MOST_ENTRIES = 500;
const MOST_ITEMS = 1_000;
/** The most fields of an object that its schema does not define. */
const MOST_UNKNOWN = 200;

interface Place {
  path: readonly string[];
  /** True for the body of an import, whose top-level lists may be long. */
  large: boolean;
}

/**
 * Finds a map, list or object with more entries than are allowed. The limit on the values of a request allows tens of thousands,
 * and work for each of them would delay every other request. JSON that is only stored has no other limit.
 */
export function findExcess(schema: z.ZodType, value: unknown, place: Place): FieldError | null {
  if (typeof value !== 'object' || value === null) return null;
  const inner = (next: z.ZodType, key: string) =>
    findExcess(next, (value as Record<string, unknown>)[key], { ...place, path: [...place.path, key] });
  const forms = listForms(schema, value).map(({ form, limit }) => {
    if (form instanceof z.ZodArray) return findListExcess(form, value as unknown[], { ...place, limit }, inner);
    if (form instanceof z.ZodRecord) return findMapExcess(form, value, { ...place, limit }, inner);
    return form instanceof z.ZodObject ? findObjectExcess(form, value, place, inner) : null;
  });
  // If a value may have several forms, one form that accepts it is enough.
  return forms.includes(null) ? null : (forms[0] ?? null);
}

type Inner = (next: z.ZodType, key: string) => FieldError | null;
type Limited = Place & { limit: number | undefined };

function findListExcess(form: z.ZodArray, items: unknown[], { path, large, limit }: Limited, inner: Inner): FieldError | null {
  const most = limit ?? (large && path.length === 1 ? Number.POSITIVE_INFINITY : MOST_ITEMS);
  if (items.length > most) return excess(path, `Has ${items.length} items; at most ${most} are taken`);
  return findFirst(items.keys(), (index) => inner(form.element as z.ZodType, String(index)));
}

function findMapExcess(form: z.ZodRecord, value: object, { path, limit }: Limited, inner: Inner): FieldError | null {
  if (form.valueType instanceof z.ZodUnknown) {
    const count = limit === undefined ? 0 : countValues(value);
    return count > (limit ?? 0) ? excess(path, `Holds ${count} values; at most ${limit} are taken`) : null;
  }
  const keys = Object.keys(value);
  const most = limit ?? MOST_ENTRIES;
  if (keys.length > most) return excess(path, `Has ${keys.length} entries; at most ${most} are taken`);
  return findFirst(keys, (key) => inner(form.valueType as z.ZodType, key));
}

function findObjectExcess({ shape }: z.ZodObject, value: object, { path }: Place, inner: Inner): FieldError | null {
  const keys = Object.keys(value);
  const schema_keys = keys.filter((key) => Object.hasOwn(shape, key));
  const unknown = keys.length - schema_keys.length;
  if (unknown > MOST_UNKNOWN) return excess(path, `Has ${unknown} fields that nobody knows; at most ${MOST_UNKNOWN} are ignored`);
  return findFirst(schema_keys, (key) => inner(shape[key] as z.ZodType, key));
}

const excess = (path: readonly string[], message: string): FieldError => ({ path: path.join('.') || 'body', message });

function findFirst<T>(keys: Iterable<T>, find: (key: T) => FieldError | null): FieldError | null {
  for (const key of keys) {
    const error = find(key);
    if (error) return error;
  }
  return null;
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 0);
}

interface Form {
  form: z.ZodType;
  limit: number | undefined;
}

/**
 * Lists the unwrapped schemas that a list or an object may have. Chooses them by kind, since validating the value is the
 * expensive part.
 */
function listForms(schema: z.ZodType, value: object, outer?: number): Form[] {
  const limit = entryLimit(schema) ?? outer;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return listForms(schema.unwrap() as z.ZodType, value, limit);
  if (schema instanceof z.ZodPipe)
    return listForms((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType, value, limit);
  const matching = schema instanceof z.ZodDiscriminatedUnion ? unwrapSchema(schema, value) : schema;
  if (matching !== schema) return listForms(matching, value, limit);
  if (schema instanceof z.ZodUnion) return (schema.options as z.ZodType[]).flatMap((option) => listForms(option, value, limit));
  const isOpen = schema instanceof z.ZodUnknown || schema instanceof z.ZodAny;
  const isMap = schema instanceof z.ZodObject || schema instanceof z.ZodRecord;
  const fits = isOpen || (Array.isArray(value) ? schema instanceof z.ZodArray : isMap);
  return fits ? [{ form: schema, limit }] : [];
}
