import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { convertArguments } from './convert.ts';
import { memoize } from './memoize.ts';
import { compilePattern } from './patterns.ts';

export interface ArgumentsOrder {
  schema: Record<string, unknown>;
  args: Record<string, unknown>;
}

/** Either the arguments, converted to fit the schema, or a sentence for each that cannot be converted. */
type Fitted = { arguments: Record<string, unknown> } | { faults: string[] };

const MOST_FAULTS = 10;

/**
 * Compiles the patterns of a tool's author so that they run in linear time; a pattern that cannot is ignored. A validator
 * distinguishes patterns by their text: without `toString`, it would use the first one for all.
 */
const regExp = Object.assign(
  (source: string) => {
    try {
      const pattern = compilePattern(source);
      return { test: (text: string) => pattern.matcher(text).find(), toString: () => source };
    } catch {
      return { test: () => true, toString: () => source };
    }
  },
  { code: 'linear' },
);

/** Compiles a schema; returns null if it is invalid: then only the tool itself checks the arguments. */
const compileSchema = memoize(50, (source: string): ValidateFunction | null => {
  const { $schema: _, $id: _id, ...schema } = JSON.parse(source);
  try {
    const rules = { strict: false, logger: false, coerceTypes: true, allErrors: true, validateFormats: false } as const;
    return new Ajv2020({ ...rules, code: { regExp } }).compile(schema);
  } catch {
    return null;
  }
});

export function fitArguments({ schema, args: sent_args }: ArgumentsOrder): Fitted {
  const check = compileSchema(JSON.stringify(schema));
  if (!check) return { arguments: sent_args };
  const args = convertArguments(schema, sent_args);
  const nulls = dropOptionalNulls(schema, args);
  if (nulls.length === 0 && check(args)) return { arguments: args };
  const faults = nulls.length > 0 ? nulls : check.errors!.map(formatError);
  return { faults: [...new Set(faults)].slice(0, MOST_FAULTS) };
}

/** Drops null for an optional parameter, because coercion would turn it into zero or an empty text. */
function dropOptionalNulls({ properties, required }: Record<string, unknown>, args: Record<string, unknown>): string[] {
  const parameters = (properties ?? {}) as Record<string, Record<string, unknown> | boolean>;
  const errors: string[] = [];
  for (const [name, value] of Object.entries(args)) {
    const { type } = Object(parameters[name]) as { type?: unknown };
    if (value !== null || type === undefined || [type].flat().includes('null')) continue;
    if (Array.isArray(required) && required.includes(name)) errors.push(`\`${name}\` must not be null`);
    else delete args[name];
  }
  return errors;
}

function formatError({ instancePath, keyword, message, params }: ErrorObject): string {
  const field = instancePath.slice(1).replaceAll('/', '.');
  const joinPath = (name: string) => [field, name].filter(Boolean).join('.');
  if (keyword === 'required') return `\`${joinPath(params.missingProperty as string)}\` is required`;
  if (keyword === 'additionalProperties')
    return `\`${joinPath(params.additionalProperty as string)}\` is not a parameter of this tool`;
  if (keyword === 'enum') return `\`${field}\` must be one of ${JSON.stringify(params.allowedValues)}`;
  return `\`${field || 'arguments'}\` ${message}`;
}
