/** The part of JSON Schema that tools use. */
export interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  format?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
}

/** Possible arguments found in a prompt, in the order of its words. Filling a schema consumes them. */
interface Pieces {
  numbers: number[];
  quotes: string[];
  text: string;
}

const QUOTED = /"[^"]*"|“[^“”]*”|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g;
const NUMBER = /(?<![\w.-])-?\d+(?:\.\d+)?(?!\w)/g;
const TEXT_LENGTH = 200;

export function extractPieces(prompt: string): Pieces {
  const quotes = (prompt.match(QUOTED) ?? []).map((quoted) => quoted.slice(1, -1));
  const numbers = (prompt.replace(QUOTED, ' ').match(NUMBER) ?? []).map(Number);
  return { quotes, numbers, text: [...prompt.trim()].slice(0, TEXT_LENGTH).join('') };
}

/** Returns a value that fits the schema: one of the pieces if one fits, or else a default. */
export function fill(schema: Schema, pieces: Pieces, root: Schema = schema): unknown {
  const { $ref, anyOf, oneOf, allOf } = schema;
  if ($ref) return fill(root.$defs?.[$ref.split('/').at(-1)!] ?? {}, pieces, root);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const variant = (anyOf ?? oneOf)?.find((option) => option.type !== 'null') ?? allOf?.[0];
  return variant ? fill({ default: schema.default, ...variant }, pieces, root) : fillType(schema, pieces, root);
}

function fillType(schema: Schema, pieces: Pieces, root: Schema): unknown {
  const type = findType(schema);
  if (type === 'object') return fillObject(schema, pieces, root);
  if (type === 'array') return fillArray(schema, pieces, root);
  if (type === 'boolean') return schema.default ?? true;
  if (type === 'string') return pieces.quotes.shift() ?? schema.default ?? toFormat(schema.format, pieces.text);
  if (type !== 'number' && type !== 'integer') return schema.default ?? null;
  const number = pieces.numbers.shift() ?? schema.default ?? schema.minimum ?? 1;
  return type === 'integer' ? Math.trunc(Number(number)) : number;
}

function fillObject({ properties = {}, required = [] }: Schema, pieces: Pieces, root: Schema): Record<string, unknown> {
  const required_entries = Object.entries(properties).filter(([name]) => required.includes(name));
  const result = Object.fromEntries(required_entries.map(([name, schema]) => [name, fill(schema, pieces, root)]));
  for (const [name, schema] of Object.entries(properties)) {
    if (!(name in result) && hasMatchingPiece(schema, pieces)) result[name] = fill(schema, pieces, root);
  }
  return result;
}

function fillArray({ items = {}, default: preset }: Schema, pieces: Pieces, root: Schema): unknown {
  const type = findType(items);
  const values: unknown[] = [];
  while (hasMatchingPiece(items, pieces)) values.push(fill(items, pieces, root));
  if (values.length > 0) return values;
  return preset ?? (type === 'object' || items.$ref ? [fill(items, pieces, root)] : []);
}

/** True if a piece is left for an optional argument; optional arguments get no default. */
function hasMatchingPiece(schema: Schema, { numbers, quotes }: Pieces): boolean {
  if (schema.enum || schema.const !== undefined) return false;
  const type = findType(schema);
  if (type === 'string') return quotes.length > 0;
  return (type === 'number' || type === 'integer') && numbers.length > 0;
}

function findType({ type, properties, anyOf }: Schema): string | undefined {
  if (Array.isArray(type)) return type.find((option) => option !== 'null');
  return type ?? (properties ? 'object' : (anyOf?.map(findType).find((option) => option !== 'null') as string | undefined));
}

function toFormat(format: string | undefined, text: string): string {
  if (format === 'uri' || format === 'url') return /https?:\/\/\S+/.exec(text)?.[0] ?? 'https://example.com';
  if (format === 'date-time') return '2025-01-01T00:00:00Z';
  if (format === 'date') return '2025-01-01';
  return format === 'email' ? 'someone@example.com' : text;
}
