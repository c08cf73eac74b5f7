import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { foreignNames, type Warning } from '../../contracts/common.ts';
import { PROTECTIONS, protects } from '../../contracts/protections.ts';
import { one, unprocessable } from '../../domain/errors.ts';

/** A field that was sent and is never read. */
interface UnknownField {
  path: string;
  message: string;
  /** True if the field is part of a protective setting, or seems meant as one. */
  is_refused: boolean;
}

/** The most unknown fields that are reported. A hostile body may contain a great many. */
const MOST = 50;
const LONGEST_NAME = 80;

type Shape = Record<string, z.ZodType>;

/** Finds fields that the schema does not define, at any depth. Records and loose objects accept any field. */
export function findUnknownFields(schema: z.ZodType, value: unknown): UnknownField[] {
  const fields: UnknownField[] = [];
  walk(schema, value, [], fields);
  return fields;
}

/**
 * Warns about unknown fields of a configuration that is untyped in its record's schema because another field decides its type.
 * Throws 422 if one of them is protective.
 */
export function listUnreadWarnings(schema: z.ZodType, config: unknown, field: string): Warning[] {
  const fields = findUnknownFields(schema, config).map((one) => ({ ...one, path: `${field}.${one.path}` }));
  return checkUnknownFields(fields);
}

/** Returns warnings about unknown fields. Throws 422 if one of them is part of a protective setting, or seems meant as one. */
export function checkUnknownFields(fields: UnknownField[]): Warning[] {
  const refused_fields = fields.filter((field) => field.is_refused);
  if (refused_fields.length > 0) throw unprocessable(refused_fields.map(({ path, message }) => ({ path, message })));
  return fields.map(({ path, message }) => ({ path, message }));
}

function walk(schema: z.ZodType, value: unknown, at: string[], fields: UnknownField[]): void {
  if (typeof value !== 'object' || value === null || fields.length >= MOST) return;
  const plain_schema = unwrapSchema(schema, value);
  const inner = (next: z.ZodType, key: string) => walk(next, (value as Shape)[key], [...at, key], fields);
  if (plain_schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const index of value.keys()) inner(plain_schema.element as z.ZodType, String(index));
  } else if (plain_schema instanceof z.ZodRecord) {
    if (!(plain_schema.valueType instanceof z.ZodUnknown))
      for (const key of Object.keys(value)) inner(plain_schema.valueType as z.ZodType, key);
  } else if (plain_schema instanceof z.ZodObject && !Array.isArray(value)) {
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(plain_schema.shape, key)) inner(plain_schema.shape[key] as z.ZodType, key);
      else if (!takesAnything(plain_schema) && fields.length < MOST) fields.push(toUnknownField(plain_schema, key, at));
    }
  }
}

/** Unwraps a schema; for a union, picks the matching option. */
export function unwrapSchema(schema: z.ZodType, value?: unknown): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapSchema(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodPipe)
    return unwrapSchema((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType, value);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const options = schema.options as z.ZodType[];
  // The discriminator decides, so that an error in one field does not make the other fields unknown.
  if (schema instanceof z.ZodDiscriminatedUnion && typeof value === 'object' && value !== null) {
    const { discriminator } = schema.def;
    const matches = (option: z.ZodType) =>
      (option as z.ZodObject).shape[discriminator]?.safeParse((value as Shape)[discriminator]).success;
    return options.find(matches) ?? schema;
  }
  return unwrapSchema(options.find((option) => option.safeParse(value).success) ?? (options[0] as z.ZodType), value);
}

/** Lists the fields of a query that take an id. */
export const listIdFields = (query: z.ZodType): [string, z.ZodType][] =>
  Object.entries((query as z.ZodObject<Shape>).shape).filter(([, field]) => unwrapSchema(field) instanceof z.ZodUUID);

const takesAnything = ({ def: { catchall } }: z.ZodObject) => catchall !== undefined && !(catchall instanceof z.ZodNever);

const isStrict = ({ def: { catchall } }: z.ZodObject) => catchall instanceof z.ZodNever;

function toUnknownField(schema: z.ZodObject, key: string, at: string[]): UnknownField {
  const fields = fieldsByName(schema.shape as Shape);
  const near = findNearest(key, [...fields.keys()]);
  const name = key.slice(0, LONGEST_NAME);
  const own = near?.close === true && protects(fields.get(near.name) as z.ZodType);
  const protection = own ? undefined : findProtection(key);
  const question = near ? `; did you mean \`${near.name}\`?` : '';
  const hint = protection ? `; \`${protection.name}\` is a field of ${protection.owner}, so set it there` : question;
  const is_refused = isStrict(schema) || own || protection !== undefined;
  return {
    path: [...at, name].join('.'),
    message: `\`${name}\` is not a field of ${describeOwner(schema, at)}${hint}`,
    is_refused,
  };
}

/** Maps every accepted name of a field in a body to its schema. */
const fieldsByName = (shape: Shape): Map<string, z.ZodType> =>
  new Map([
    ...Object.entries(shape),
    ...[...foreignNames(shape)].flatMap(([own, names]) => names.map((name) => [name, shape[own] as z.ZodType] as const)),
  ]);

/** Returns a readable name of the object: `an MCP server`, or the field that contains it. */
function describeOwner(schema: z.ZodObject, at: string[]): string {
  const words = (schema.meta()?.id as string | undefined)
    ?.replace(/(Create|Update)$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\bmcp\b/, 'MCP');
  if (words) return one(words);
  return at.length > 0 ? `\`${at.join('.')}\`` : 'this request';
}

const normalizeName = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
const BARE_PROTECTIONS = [...PROTECTIONS].map(([name, owner]) => ({ name, owner, bare: normalizeName(name) }));
const LONG_NAME = 10;

/** Finds the protective field of another record that was probably meant. */
function findProtection(key: string): { name: string; owner: string } | undefined {
  if (key.length > LONGEST_NAME) return undefined;
  const bare_key = normalizeName(key);
  return BARE_PROTECTIONS.find(({ bare: name }) => distance(bare_key, name) <= (name.length > LONG_NAME ? 2 : 1));
}

/** Finds the known name that was probably meant: a similar spelling (`close`), or a name that contains the words of the other. */
export function findNearest(key: string, names: readonly string[]): { name: string; close: boolean } | null {
  if (key.length > LONGEST_NAME) return null;
  const [best] = names.map((name) => ({ name, far: distance(key.toLowerCase(), name) })).sort((a, b) => a.far - b.far);
  if (best && best.far <= Math.max(1, Math.floor(key.length / 3))) return { name: best.name, close: true };
  const words = `_${key.toLowerCase()}_`;
  const holding = names.find((name) => `_${name}_`.includes(words) || words.includes(`_${name}_`));
  return holding ? { name: holding, close: false } : null;
}
