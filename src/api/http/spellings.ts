import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { foreignNames, getSpellings } from '../../contracts/common.ts';
import type { FieldError } from '../../domain/errors.ts';
import { unwrapSchema } from './fields.ts';

type Shape = Record<string, z.ZodType>;
type Fields = Record<string, unknown>;

interface Reading {
  /** In an update, null clears a field or is refused; everywhere else null means an omitted field. */
  keeps_nulls: boolean;
  /** The record to change. It shows which of two spellings of a field the client has edited. */
  now?: unknown;
  /** Called for a field that has different values under several names. */
  refuse(error: FieldError): void;
}

/**
 * Converts the input to this project's spelling: replaces names and values of other clients, and drops nulls of optional fields.
 */
export const respell = (schema: z.ZodType, value: unknown, reading: Reading): unknown => respellValue(schema, value, [], reading);

function respellValue(schema: z.ZodType, value: unknown, at: readonly string[], reading: Reading): unknown {
  const input = readValue(schema, value);
  if (typeof input !== 'object' || input === null) return input;
  const form = unwrapSchema(schema, input);
  const { keeps_nulls, refuse } = reading;
  const inner = (next: unknown, one: unknown, key: string | number) =>
    respellValue(next as z.ZodType, one, [...at, String(key)], { keeps_nulls: false, refuse });
  if (form instanceof z.ZodArray && Array.isArray(input)) return input.map((item, index) => inner(form.element, item, index));
  if (Array.isArray(input)) return input;
  if (form instanceof z.ZodRecord)
    return Object.fromEntries(Object.entries(input).map(([key, one]) => [key, inner(form.valueType, one, key)]));
  if (!(form instanceof z.ZodObject)) return input;
  const shape = form.shape as Shape;
  return Object.fromEntries(
    Object.entries(mergeAliases(shape, input as Fields, at, reading))
      .map(([key, one]): [string, unknown] => [key, Object.hasOwn(shape, key) ? inner(shape[key], one, key) : one])
      .filter(([key, one]) => one !== null || keeps_nulls || !Object.hasOwn(shape, key) || !isLeftOut(shape[key] as z.ZodType)),
  );
}

const isLeftOut = (field: z.ZodType) => !field.safeParse(null).success && field.safeParse(undefined).success;

/** Returns the fields under this project's names, each once. */
function mergeAliases(shape: Shape, value: Fields, at: readonly string[], { now, refuse }: Reading): Fields {
  const aliased = [...foreignNames(shape)].filter(([own, names]) =>
    listSentNames(value, own, names).some((name) => name !== own),
  );
  if (aliased.length === 0) return value;
  const result = { ...value };
  for (const [own, names] of aliased) {
    const choice = chooseValue({ own, names, field: shape[own] as z.ZodType }, value, now);
    for (const name of names) delete result[name];
    if (choice.kind === 'value') result[own] = choice.value;
    if (choice.kind === 'refused') refuse({ path: [...at, choice.name].join('.'), message: choice.message });
  }
  return result;
}

const describeConflict = ([one, ...others]: string[]) =>
  `\`${one}\` and \`${others.join('`, `')}\` are one field and have different values here; send one of them`;

const listSentNames = (value: Fields, own: string, names: readonly string[]) =>
  [own, ...names].filter((name) => Object.hasOwn(value, name));

interface Aliased {
  own: string;
  names: readonly string[];
  field: z.ZodType;
}
type Choice = { kind: 'none' } | { kind: 'value'; value: unknown } | { kind: 'refused'; name: string; message: string };

/**
 * Chooses the value of a field that was sent under one or more names. Of several values, the one that differs from the record
 * wins. An empty value under the name for another kind of record means that the record is not of that kind; any other value under
 * that name is refused.
 */
function chooseValue({ own, names, field }: Aliased, value: Fields, now: unknown): Choice {
  const clears = field.safeParse(null).success;
  const sent_names = listSentNames(value, own, names).filter((name) => value[name] !== null || clears);
  const right = getSpellings(field).nameFor?.({ ...Object(now), ...value }) ?? own;
  // A record without a kind is refused elsewhere, for the missing kind.
  const fits = (name: string) => name === own || name === right || !names.includes(right);
  const meant = sent_names.filter((name) => fits(name) || !isEmpty(value[name]));
  const [first] = meant;
  if (first === undefined) return { kind: 'none' };
  if (!meant.some(fits))
    return { kind: 'refused', name: first, message: `\`${first}\` is for another kind of record; send \`${right}\`` };
  const is = (one: unknown) => (name: string) => isDeepStrictEqual(value[name], one);
  if (meant.every(is(value[first]))) return { kind: 'value', value: value[first] };
  const edited_names = meant.filter((name) => !is(Object(now)[own])(name));
  const [first_edited] = edited_names;
  if (first_edited !== undefined && edited_names.every(is(value[first_edited])) && fits(first_edited))
    return { kind: 'value', value: value[first_edited] };
  const torn = edited_names.length > 1 ? edited_names : meant;
  return { kind: 'refused', name: torn[0] as string, message: describeConflict(torn) };
}

const isEmpty = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** True if only the record shows what is meant: which of several names of a field was edited, or which name its kind uses. */
export function needsRecord(schema: z.ZodType, value: unknown): boolean {
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return false;
  return [...foreignNames(schema.shape)].some(([own, names]) => {
    const sent_names = listSentNames(value as Fields, own, names);
    const byKind = getSpellings(schema.shape[own]).nameFor !== undefined;
    return sent_names.length > 1 || (byKind && sent_names.some((name) => name !== own));
  });
}

/** True if a field of the body has this other name. */
export const isOtherName = (shape: object, name: string): boolean =>
  [...foreignNames(shape as Shape).values()].some((names) => names.includes(name));

/** Adds to a record in a reply the other names of its fields that the reply's schema has. */
export function addOtherNames<R>(schema: z.ZodType, record: R): R {
  if (!(schema instanceof z.ZodObject)) return record;
  const shape = schema.shape as Shape;
  const alias_entries = [...foreignNames(shape)].flatMap(([own, names]) => {
    const { nameFor } = getSpellings(shape[own] as z.ZodType);
    const value = (record as Fields)[own];
    const toShownValue = (name: string) => (nameFor && nameFor(record as Fields) !== name ? null : value);
    return names.filter((name) => Object.hasOwn(shape, name)).map((name) => [name, toShownValue(name)] as const);
  });
  return alias_entries.length > 0 ? { ...record, ...Object.fromEntries(alias_entries) } : record;
}

const readValue = (schema: z.ZodType, value: unknown) => getSpellings(schema).read?.(value) ?? value;
