import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { foreignNames, type Warning } from '../../contracts/common.ts';
import { PROTECTIONS, protects } from '../../contracts/protections.ts';
import { one, unprocessable } from '../../domain/errors.ts';

/** A field that was sent and is never read. */
interface UnknownField {
  path: string;
  message: string;
  /** It is part of a protective setting, or seems meant as one. */
  refused: boolean;
}

/** A hostile body may contain a great many. */
const MOST = 50;
const LONGEST_NAME = 80;

type Shape = Record<string, z.ZodType>;

/** Finds fields that the schema does not define, at any depth. Records and loose objects accept any field. */
export function unknownFields(schema: z.ZodType, value: unknown): UnknownField[] {
  const found: UnknownField[] = [];
  walk(schema, value, [], found);
  return found;
}

/** The same for a configuration that is untyped in its record's schema because another field decides its type. 422 for what protects. */
export function unreadIn(schema: z.ZodType, config: unknown, field: string): Warning[] {
  const found = unknownFields(schema, config).map((one) => ({ ...one, path: `${field}.${one.path}` }));
  return warningsUnlessRefused(found);
}

/** Warnings about unknown fields. 422 if one of them is part of a protective setting, or seems meant as one. */
export function warningsUnlessRefused(found: UnknownField[]): Warning[] {
  const refused = found.filter((field) => field.refused);
  if (refused.length > 0) throw unprocessable(refused.map(({ path, message }) => ({ path, message })));
  return found.map(({ path, message }) => ({ path, message }));
}

function walk(schema: z.ZodType, value: unknown, at: string[], found: UnknownField[]): void {
  if (typeof value !== 'object' || value === null || found.length >= MOST) return;
  const known = bare(schema, value);
  const inner = (next: z.ZodType, key: string) => walk(next, (value as Shape)[key], [...at, key], found);
  if (known instanceof z.ZodArray && Array.isArray(value)) {
    for (const index of value.keys()) inner(known.element as z.ZodType, String(index));
  } else if (known instanceof z.ZodRecord) {
    if (!(known.valueType instanceof z.ZodUnknown))
      for (const key of Object.keys(value)) inner(known.valueType as z.ZodType, key);
  } else if (known instanceof z.ZodObject && !Array.isArray(value)) {
    for (const key of Object.keys(value)) {
      if (Object.hasOwn(known.shape, key)) inner(known.shape[key] as z.ZodType, key);
      else if (!takesAnything(known) && found.length < MOST) found.push(unknown(known, key, at));
    }
  }
}

/** Unwraps a schema; of a union, picks the matching option. */
export function bare(schema: z.ZodType, value?: unknown): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return bare(schema.unwrap() as z.ZodType, value);
  if (schema instanceof z.ZodPipe)
    return bare((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType, value);
  if (!(schema instanceof z.ZodUnion)) return schema;
  const options = schema.options as z.ZodType[];
  // Its name decides, so that a mistake in one field does not make the others foreign.
  if (schema instanceof z.ZodDiscriminatedUnion && typeof value === 'object' && value !== null) {
    const { discriminator } = schema.def;
    const named = (option: z.ZodType) =>
      (option as z.ZodObject).shape[discriminator]?.safeParse((value as Shape)[discriminator]).success;
    return options.find(named) ?? schema;
  }
  return bare(options.find((option) => option.safeParse(value).success) ?? (options[0] as z.ZodType), value);
}

/** The fields of a query that take an id. */
export const idFields = (query: z.ZodType): [string, z.ZodType][] =>
  query instanceof z.ZodObject
    ? Object.entries(query.shape as Shape).filter(([, field]) => bare(field) instanceof z.ZodUUID)
    : [];

const takesAnything = ({ def: { catchall } }: z.ZodObject) => catchall !== undefined && !(catchall instanceof z.ZodNever);

const isStrict = ({ def: { catchall } }: z.ZodObject) => catchall instanceof z.ZodNever;

function unknown(schema: z.ZodObject, key: string, at: string[]): UnknownField {
  const fields = fieldsByName(schema.shape as Shape);
  const near = nearest(key, [...fields.keys()]);
  const name = key.slice(0, LONGEST_NAME);
  const own = near?.close === true && protects(fields.get(near.name) as z.ZodType);
  const elsewhere = own ? undefined : protectionElsewhere(key);
  const question = near ? `; did you mean \`${near.name}\`?` : '';
  const hint = elsewhere ? `; \`${elsewhere.name}\` is a field of ${elsewhere.owner}, so set it there` : question;
  const refused = isStrict(schema) || own || elsewhere !== undefined;
  return { path: [...at, name].join('.'), message: `\`${name}\` is not a field of ${ownerOf(schema, at)}${hint}`, refused };
}

/** The fields of a body under all names that they are read by. */
const fieldsByName = (shape: Shape): Map<string, z.ZodType> =>
  new Map([
    ...Object.entries(shape),
    ...[...foreignNames(shape)].flatMap(([own, names]) => names.map((name) => [name, shape[own] as z.ZodType] as const)),
  ]);

/** A readable name of the object: `an MCP server`, or the field that contains it. */
function ownerOf(schema: z.ZodObject, at: string[]): string {
  const words = (schema.meta()?.id as string | undefined)
    ?.replace(/(Create|Update)$/, '')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replace(/\bmcp\b/, 'MCP');
  if (words) return one(words);
  return at.length > 0 ? `\`${at.join('.')}\`` : 'this request';
}

const bareName = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
const BARE_PROTECTIONS = [...PROTECTIONS].map(([name, owner]) => ({ name, owner, bare: bareName(name) }));
const LONG_NAME = 10;

/** The field of another record that protects, and was probably meant. */
function protectionElsewhere(key: string): { name: string; owner: string } | undefined {
  if (key.length > LONGEST_NAME) return undefined;
  const sent = bareName(key);
  return BARE_PROTECTIONS.find(({ bare: name }) => distance(sent, name) <= (name.length > LONG_NAME ? 2 : 1));
}

/** The known name that was probably meant: a similar spelling (`close`), or one that contains the words of the other. */
export function nearest(key: string, names: readonly string[]): { name: string; close: boolean } | null {
  if (key.length > LONGEST_NAME) return null;
  const [best] = names.map((name) => ({ name, far: distance(key.toLowerCase(), name) })).sort((a, b) => a.far - b.far);
  if (best && best.far <= Math.max(1, Math.floor(key.length / 3))) return { name: best.name, close: true };
  const words = `_${key.toLowerCase()}_`;
  const holding = names.find((name) => `_${name}_`.includes(words) || words.includes(`_${name}_`));
  return holding ? { name: holding, close: false } : null;
}
