import { z } from 'zod';

/** Formats of values that the service issues, so every stored value matches them. */
const ISSUED = new Set<unknown>(['uuid', 'datetime']);

const isIssued = (schema: z.core.$ZodType): boolean => {
  const { type, format } = schema._zod.def as Def;
  return type === 'string' && ISSUED.has(format);
};

const relaxed = new WeakMap<z.core.$ZodType, z.core.$ZodType>();

/**
 * Returns the same schema without limits and patterns. They were checked when a value was saved; rows of an earlier release may
 * be longer, and must still be shown.
 */
export function withoutLimits<S extends z.core.$ZodType>(schema: S): S {
  const relaxed_schema = relaxed.get(schema) ?? relax(schema);
  relaxed.set(schema, relaxed_schema);
  return relaxed_schema as S;
}

/** The parts of a schema that are schemas themselves. */
const PARTS = ['element', 'innerType', 'keyType', 'valueType', 'in', 'out', 'catchall', 'left', 'right', 'rest'];
type Def = z.core.$ZodTypeDef & Record<string, unknown>;

function relax(schema: z.core.$ZodType): z.core.$ZodType {
  const def = schema._zod.def as Def;
  if (isIssued(schema) || def.type === 'custom') return schema;
  if (def.type === 'string') return z.string();
  if (def.type === 'number') return z.number();
  const relaxed_def: Def = { ...def, checks: [] };
  for (const part of PARTS) if (isSchema(def[part])) relaxed_def[part] = withoutLimits(def[part]);
  for (const part of ['options', 'items'])
    if (Array.isArray(def[part])) relaxed_def[part] = def[part].map((one) => withoutLimits(one as z.ZodType));
  if (def.shape) relaxed_def.shape = withFieldsRelaxed(def.shape as z.ZodRawShape);
  return z.core.clone(schema, relaxed_def);
}

const isSchema = (value: unknown): value is z.core.$ZodType => typeof value === 'object' && value !== null && '_zod' in value;

const withFieldsRelaxed = (shape: z.ZodRawShape) =>
  Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, withoutLimits(field)]));

const LIMITS = ['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'propertyNames'];
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];

interface Described {
  zodSchema: z.core.$ZodType;
  jsonSchema: Record<string, unknown>;
  io: 'input' | 'output';
}

/** Describes replies without the limits of requests, as `withoutLimits` parses them. */
export function describeWithoutLimits({ zodSchema, jsonSchema, io }: Described): void {
  if (io !== 'output' || isIssued(zodSchema)) return;
  for (const keyword of [...LIMITS, ...BOUNDS]) delete jsonSchema[keyword];
  if (jsonSchema.format === 'uri') delete jsonSchema.format;
}
