import { Ajv, type ValidateFunction } from 'ajv';
import { memoize } from './memoize.ts';
import { compilePattern } from './patterns.ts';

/**
 * Compiles patterns inside schemas so that they run in linear time too. A validator distinguishes patterns by their text:
 * without `toString`, it would use the first one for all.
 */
export const regExp = Object.assign(
  (source: string) => {
    const pattern = compilePattern(source);
    return { test: (text: string) => pattern.matcher(text).find(), toString: () => source };
  },
  { code: 'linear' },
);

type Check = (value: unknown) => string | null;

/** Creates a check of JSON values. Throws a sentence if the schema is invalid. */
export function schemaCheck(json_schema: Record<string, unknown>): Check {
  return compileSchema(JSON.stringify(json_schema));
}

const compileSchema = memoize(50, (source: string): Check => {
  const ajv = new Ajv({ strict: false, validateFormats: false, code: { regExp } });
  let validate: ValidateFunction;
  try {
    validate = ajv.compile(JSON.parse(source));
  } catch (error) {
    throw new Error(`Not a JSON Schema: ${(error as Error).message}`);
  }
  return (value) => (validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: 'request' }));
});

/** Accepts every pattern: those of other languages and without the `u` flag are ignored where arguments are checked, too. */
const anyPattern = Object.assign((source: string) => ({ test: () => true, toString: () => source }), { code: 'any' });

/** Returns the fault of each of a server's schemas; null for a valid one. */
export function listSchemaErrors(schemas: readonly unknown[]): (string | null)[] {
  return schemas.map((schema) => {
    try {
      // Each schema gets its own validator: schemas with the same $id would conflict.
      const rules = { strict: false, validateFormats: false, validateSchema: false, logger: false } as const;
      new Ajv({ ...rules, code: { regExp: anyPattern } }).compile(schema as object);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  });
}
