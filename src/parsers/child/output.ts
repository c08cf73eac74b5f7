import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { memoize } from './memoize.ts';
import { regExp } from './schema.ts';

export interface OutputOrder {
  schema: Record<string, unknown>;
  /** The text that should be JSON. */
  text: string;
}

const MOST_FAULTS = 5;
const LONGEST_FAULT = 200;

/** Compiles a schema of draft 2020-12; throws if it is invalid. `$schema` and `$id`, which clients send, are ignored. */
const compileSchema = memoize(50, (source: string): ValidateFunction => {
  const { $schema: _, $id: _id, ...schema } = JSON.parse(source);
  const rules = { strict: false, logger: false, allErrors: true, validateFormats: false } as const;
  const check = new Ajv2020({ ...rules, code: { regExp } }).compile(schema);
  // An async check returns a promise, which would always count as true.
  if ('$async' in check) throw new Error('`$async` is not supported');
  return check;
});

/** Returns the reason why a schema cannot be applied; null if it can. */
export function findOutputSchemaError(schema: Record<string, unknown>): string | null {
  try {
    compileSchema(JSON.stringify(schema));
    return null;
  } catch (error) {
    return `Not a JSON Schema of draft 2020-12: ${(error as Error).message}`;
  }
}

/** Returns the first reasons why a text is not JSON that the schema accepts, each with its path. */
export function listOutputErrors({ schema, text }: OutputOrder): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return ['it is not one JSON value'];
  }
  const check = compileSchema(JSON.stringify(schema));
  if (check(value)) return [];
  const errors = new Set(check.errors!.map(formatError));
  const [...first] = errors;
  const more = first.length > MOST_FAULTS ? [`and ${first.length - MOST_FAULTS} more`] : [];
  return [...first.slice(0, MOST_FAULTS), ...more];
}

function formatError({ instancePath, message = 'is not valid', params }: ErrorObject): string {
  const property_name = params.additionalProperty ?? params.unevaluatedProperty;
  const which = property_name === undefined ? '' : ` (\`${property_name}\`)`;
  const allowed_values = params.allowedValues === undefined ? '' : `: ${JSON.stringify(params.allowedValues)}`;
  const sentence = `${instancePath || 'the answer'} ${message}${which}${allowed_values}`;
  return sentence.length > LONGEST_FAULT ? `${sentence.slice(0, LONGEST_FAULT)}…` : sentence;
}
