import { z } from 'zod';
import { findExcess } from '../../../src/api/http/entries.ts';
import type { Endpoint } from '../../../src/contracts/endpoint.ts';

/** A field of a body, filled with the most that the service accepts there. */
export interface LargestShape {
  /** The dotted path; empty: the body itself, filled with fields that it does not have. */
  path: string;
  /** Returns the body; `base` is valid and has only the required fields. */
  bodyOn(base: object | undefined): unknown;
}

interface Place {
  path: string[];
  /** The most entries or characters, if the schema limits them. */
  most: number;
  /** Returns the body with so many entries or characters at this place. */
  filled(count: number, base?: object): unknown;
}

type Around = (value: unknown, base?: object) => unknown;

const BODY_BYTES = 1_000_000;
const LARGE_BODY_BYTES = 8_000_000;
/** The most values in a body, with a reserve for its other fields. */
const VALUES = 45_000;
const TOO_MANY = 20_000;

/** Returns the largest shape of each list, map, object and text that an endpoint accepts, in an otherwise valid body. */
export function largestShapes({ body: schema, large = false }: Endpoint): LargestShape[] {
  if (!schema) return [];
  const bytes = large ? LARGE_BODY_BYTES : BODY_BYTES;
  return placesIn(schema, [], (value, base) =>
    isPlain(value) ? { ...(base ?? (sampleOf(schema, 0) as object)), ...value } : value,
  ).map((place) => ({
    path: place.path.join('.'),
    bodyOn: (base) => fitted(place, countFor(schema, place, large), { bytes, base }),
  }));
}

/** Returns the highest count that the service accepts, derived from its refusals. */
function countFor(schema: z.ZodType, { filled, most }: Place, large: boolean): number {
  if (most < VALUES) return most;
  const excess = findExcess(schema, filled(TOO_MANY), { path: [], large });
  return Math.min(most, Number(/at most (\d+)/.exec(excess?.message ?? '')?.[1] ?? most));
}

/** Limits the count to what the body as a whole allows. */
function fitted({ filled }: Place, most: number, { bytes, base }: { bytes: number; base: object | undefined }): unknown {
  for (let count = Math.min(most, bytes); ; count = Math.floor(count * 0.8)) {
    const body = filled(count, base);
    const text = JSON.stringify(body);
    if (count <= 1 || (text.length <= bytes && (text.match(/[,[{]/g) ?? []).length <= VALUES + 1_000)) return body;
  }
}

function placesIn(schema: z.ZodType, path: string[], around: Around, seen: readonly z.ZodType[] = []): Place[] {
  if (seen.includes(schema)) return [];
  const within = (next: unknown, key: string | null, wrap: (value: unknown) => unknown) =>
    placesIn(next as z.ZodType, key === null ? path : [...path, key], (value, base) => around(wrap(value), base), [
      ...seen,
      schema,
    ]);
  const here = (most: number, fill: (count: number) => unknown): Place => ({
    path,
    most,
    filled: (count, base) => around(fill(count), base),
  });
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => within(option, null, (value) => value));
  const inner = unwrapped(schema);
  if (inner) return within(inner, null, (value) => value);
  if (isText(schema)) return [here(maximumOf(schema), (count) => 'a word  1.2.3 '.repeat(count / 14 + 1).slice(0, count))];
  if (schema instanceof z.ZodArray)
    return [
      here(Math.min(maximumOf(schema), VALUES), (count) =>
        Array.from({ length: count }, (_, at) => sampleOf(schema.element as z.ZodType, at)),
      ),
      ...within(schema.element, '0', (value) => [value]),
    ];
  if (schema instanceof z.ZodRecord)
    return [
      here(VALUES, (count) => entries(count, (at) => sampleOf(schema.valueType as z.ZodType, at))),
      ...within(schema.valueType, 'KEY', (value) => ({ key: value })),
    ];
  if (schema instanceof z.ZodObject) {
    const base = path.length === 0 ? {} : (sampleOf(schema, 0) as object);
    return [
      here(VALUES, (count) => ({ ...base, ...entries(count, () => 1) })),
      ...Object.entries(schema.shape).flatMap(([name, field]) => within(field, name, (value) => ({ ...base, [name]: value }))),
    ];
  }
  return schema instanceof z.ZodUnknown ? [here(VALUES, (count) => entries(count, () => 1))] : [];
}

/** Builds entries whose names are as long as there is space for. */
const entries = (count: number, valueAt: (at: number) => unknown) => {
  const length = Math.floor((BODY_BYTES * 0.6) / Math.max(1, count)) - 20;
  const tail = '_of_a_name'.repeat(Math.max(0, Math.min(4_000, length) / 10));
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}${tail}`, valueAt(at)]));
};

const isPlain = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value);

/** True for texts of any content. Others have a format that fixes their length. */
const isText = (schema: z.ZodType) =>
  schema.def.type === 'string' && ['undefined', 'url', 'regex'].includes(String((schema.def as { format?: string }).format));

const checksOf = (schema: z.ZodType) =>
  (schema.def.checks ?? []).map((check) => check._zod.def as unknown as { check: string; maximum?: number; minimum?: number });

const maximumOf = (schema: z.ZodType) =>
  Math.min(Number.POSITIVE_INFINITY, ...checksOf(schema).flatMap(({ maximum }) => maximum ?? []));

/** Returns the schema inside a wrapper; null: it wraps nothing. */
function unwrapped(schema: z.ZodType): z.ZodType | null {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return schema.unwrap() as z.ZodType;
  if (schema instanceof z.ZodPipe) return (schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType;
  if (schema instanceof z.ZodLazy) return schema.unwrap() as z.ZodType;
  return null;
}

/** Returns the smallest value that a schema accepts, a different one for each number. */
function sampleOf(schema: z.ZodType, at: number): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return undefined;
  if (schema instanceof z.ZodNullable) return sampleOf(schema.unwrap() as z.ZodType, at);
  if (schema instanceof z.ZodUnion) return sampleOf(schema.options[0] as z.ZodType, at);
  const inner = unwrapped(schema);
  if (inner) return sampleOf(inner, at);
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(
      Object.entries(schema.shape)
        .map(([name, field]) => [name, sampleOf(field as z.ZodType, at)])
        .filter(([, value]) => value !== undefined),
    );
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodLiteral) return [...schema.values][0];
  if (schema instanceof z.ZodNumber) return Math.max(1, schema.minValue ?? 1);
  if (schema instanceof z.ZodBoolean) return false;
  if (schema instanceof z.ZodArray) return [];
  if (schema.def.type === 'string') return textOf(String((schema.def as { format?: string }).format), at);
  return {};
}

function textOf(format: string, at: number): string {
  if (format === 'uuid') return `0197a0c4-6b1e-7c3a-9f57-${String(at).padStart(12, '0')}`;
  if (format === 'url') return `https://example.com/${at}`;
  return format === 'datetime' ? '2026-01-31T12:00:00Z' : `text_${at}`;
}
