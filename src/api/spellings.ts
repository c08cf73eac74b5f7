import { z } from 'zod';
import { fieldAliases } from '../contracts/common.ts';
import { bare } from './fields.ts';

type Shape = Record<string, z.ZodType>;

interface Reading {
  /** In an update, null clears a field or is refused; everywhere else it means an omitted field. */
  keeps_nulls: boolean;
}

/** The input in this project's spelling: other clients' names and values are replaced, nulls of optional fields dropped. */
export function respelt(schema: z.ZodType, value: unknown, { keeps_nulls }: Reading): unknown {
  const known = read(schema, value);
  if (typeof known !== 'object' || known === null) return known;
  const form = bare(schema, known);
  const inner = (next: unknown, one: unknown) => respelt(next as z.ZodType, one, { keeps_nulls: false });
  if (form instanceof z.ZodArray && Array.isArray(known)) return known.map((item) => inner(form.element, item));
  if (Array.isArray(known)) return known;
  if (form instanceof z.ZodRecord)
    return Object.fromEntries(Object.entries(known).map(([key, one]) => [key, inner(form.valueType, one)]));
  if (!(form instanceof z.ZodObject)) return known;
  const shape = form.shape as Shape;
  const named = Object.entries(known).map(([key, one]): [string, unknown] => [ownName(shape, key, known), one]);
  return Object.fromEntries(
    named
      .map(([key, one]): [string, unknown] => [key, Object.hasOwn(shape, key) ? inner(shape[key], one) : one])
      .filter(([key, one]) => one !== null || keeps_nulls || !Object.hasOwn(shape, key) || !isLeftOut(shape[key] as z.ZodType)),
  );
}

const isLeftOut = (field: z.ZodType) => !field.safeParse(null).success && field.safeParse(undefined).success;

function ownName(shape: Shape, key: string, value: object): string {
  if (Object.hasOwn(shape, key)) return key;
  const own = respellings(shape).get(key);
  return own === undefined || Object.hasOwn(value, own) ? key : own;
}

const foreignNames = new WeakMap<Shape, ReadonlyMap<string, string>>();

/** This project's name of each field that other clients name differently. A hostile body has tens of thousands of names to look up. */
function respellings(shape: Shape): ReadonlyMap<string, string> {
  const found = foreignNames.get(shape);
  if (found) return found;
  const pairs = Object.entries(shape).flatMap(([own, field]) => (spelled(field).names ?? []).map((name) => [name, own] as const));
  // The first field that claims a name has it.
  const made = new Map(pairs.reverse());
  foreignNames.set(shape, made);
  return made;
}

const read = (schema: z.ZodType, value: unknown) => spelled(schema).read?.(value) ?? value;

/** The spellings of a schema, or of the schema it wraps. */
function spelled(schema: z.ZodType): ReturnType<typeof fieldAliases> {
  const own = fieldAliases(schema);
  if (own.names || own.read) return own;
  const wraps = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault;
  return wraps ? spelled(schema.unwrap() as z.ZodType) : {};
}
