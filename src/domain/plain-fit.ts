import { isExactNumber } from './exact-json.ts';

type Schema = Record<string, unknown>;

/** The keywords that do not affect whether a value fits. */
const NOTES = new Set(['$schema', '$id', 'title', 'description', 'default', 'examples', 'deprecated', 'format']);

/** The most parts of a value or a schema. A check of more takes longer than it saves. */
const MOST_PARTS = 1_000;

function hasFewParts(value: unknown): boolean {
  let left = MOST_PARTS;
  const countParts = (part: unknown): boolean => {
    left -= 1;
    if (left < 0) return false;
    if (typeof part !== 'object' || part === null) return true;
    // The loop ends early, which a list of all names would not.
    for (const name in part) if (!countParts((part as Schema)[name])) return false;
    return true;
  };
  return countParts(value);
}

const TYPES: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: Number.isFinite,
  integer: Number.isInteger,
  null: (value) => value === null,
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value),
};

/** The check of one keyword's value (`asked`) against a value. `fits` applies another schema to a part of it. */
type Rule = (asked: unknown, value: unknown, fits: (schema: unknown, part: unknown) => boolean, schema: Schema) => boolean;

const listFields = (value: unknown): [string, unknown][] => (TYPES.object!(value) ? Object.entries(value as object) : []);

const RULES: Record<string, Rule> = {
  type: (type, value) =>
    [type].flat().some((name) => typeof name === 'string' && Object.hasOwn(TYPES, name) && TYPES[name]!(value)),
  enum: (options, value) => Array.isArray(options) && typeof value !== 'object' && options.includes(value),
  required: (names, value) =>
    Array.isArray(names) && (!TYPES.object!(value) || names.every((name) => Object.hasOwn(value as object, name))),
  properties: (known, value, fits) =>
    TYPES.object!(known) &&
    listFields(value).every(([name, part]) => !Object.hasOwn(known as object, name) || fits((known as Schema)[name], part)),
  additionalProperties: (allowed, value, _fits, { properties = {} }) =>
    allowed === true ||
    (allowed === false &&
      TYPES.object!(properties) &&
      listFields(value).every(([name]) => Object.hasOwn(properties as object, name))),
  items: (schema, value, fits) => !Array.isArray(value) || value.every((item) => fits(schema, item)),
};

/**
 * True if a value fits a JSON Schema as it is, without a conversion. Takes little time for any input: it knows only the plain
 * keywords, and checks only few parts. False: it may fit nevertheless, and has to be checked by a validator.
 */
export function fitsPlainly(schema: unknown, value: unknown): boolean {
  const fits = (of: unknown, part: unknown): boolean =>
    TYPES.object!(of) &&
    Object.entries(of as Schema).every(
      ([keyword, asked]) =>
        NOTES.has(keyword) || (Object.hasOwn(RULES, keyword) && RULES[keyword]!(asked, part, fits, of as Schema)),
    );
  return hasFewParts(schema) && hasFewParts(value) && fits(schema, value);
}
