import { Ajv, type ValidateFunction } from 'ajv';
import { patternOf } from './patterns.ts';

/** Patterns inside schemas run in linear time too. */
const regExp = Object.assign(
  (source: string) => {
    const pattern = patternOf(source);
    return { test: (text: string) => pattern.matcher(text).find() };
  },
  { code: 'linear' },
);

/** A check of JSON values. Throws a sentence when the schema is none. */
export function schemaCheck(json_schema: Record<string, unknown>): (value: unknown) => string | null {
  const ajv = new Ajv({ strict: false, validateFormats: false, code: { regExp } });
  let validate: ValidateFunction;
  try {
    validate = ajv.compile(json_schema);
  } catch (error) {
    throw new Error(`Not a JSON Schema: ${(error as Error).message}`);
  }
  return (value) => (validate(value) ? null : ajv.errorsText(validate.errors, { dataVar: 'request' }));
}
