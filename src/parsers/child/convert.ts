type Json = Record<string, unknown>;

/** How deep values are converted. */
const DEEPEST = 16;
const NUMBER = /^\s*[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$/;
const FLAGS: Record<string, boolean> = { true: true, false: false, '1': true, '0': false };
const NOTHING = ['', 'null', 'none', 'undefined'];

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Converts what models send for a value to what its schema says, where only one meaning is possible: lists and objects in text, once or
 * twice encoded, `"True"` and `"1"` for a boolean, `"null"` for null, stray blanks and quotes around a value of a list of choices and around
 * names. Everything else stays as it is.
 */
export function convertArguments(schema: Json, args: Json): Json {
  const resolved = resolve(schema, schema);
  return resolved ? convertObject(findPart(resolved, 'object', schema), args, { root: schema, depth: 0 }) : args;
}

interface Place {
  root: Json;
  depth: number;
}

function convertValue(schema: unknown, value: unknown, { root, depth }: Place): unknown {
  const resolved = resolve(schema, root);
  if (!resolved || depth > DEEPEST) return value;
  const place = { root, depth: depth + 1 };
  const types = listTypes(resolved, root);
  const found = typeof value === 'string' ? convertText(findPart(resolved, 'string', root), value, types) : value;
  if (Array.isArray(found)) return convertItems(findPart(resolved, 'array', root), found, place);
  return isObject(found) ? convertObject(findPart(resolved, 'object', root), found, place) : found;
}

function convertObject(schema: Json, value: Json, place: Place): Json {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const converted: [name: string, part: unknown][] = [];
  const names = new Set<string>();
  for (const [key, part] of Object.entries(value)) {
    const plain = trimName(key);
    const is_taken = Object.hasOwn(value, plain) || names.has(plain);
    const name = Object.hasOwn(properties, key) || is_taken || !Object.hasOwn(properties, plain) ? key : plain;
    names.add(name);
    const part_schema = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    const found = convertValue(part_schema, part, place);
    if (found !== ABSENT) converted.push([name, found]);
    else if (required.includes(name)) converted.push([name, part]);
  }
  return Object.fromEntries(converted);
}

function convertItems(schema: Json, items: unknown[], place: Place): unknown[] {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  return items.map((item, index) => {
    const found = convertValue(prefix[index] ?? schema.items, item, place);
    return found === ABSENT ? item : found;
  });
}

/** Stands for a value that means nothing: an optional argument is left out. */
const ABSENT = Symbol('absent');

function convertText(schema: Json, text: string, types: ReadonlySet<string> | null): unknown {
  if (!types || types.has('string')) return convertChoice(schema, text);
  const plain = text.trim().toLowerCase();
  if (NOTHING.includes(plain)) return types.has('null') ? null : ABSENT;
  if (types.has('array') || types.has('object')) {
    const value = parseNested(text);
    if (Array.isArray(value) ? types.has('array') : isObject(value) && types.has('object')) return value;
  }
  const unquoted = trimName(text);
  const is_number = types.has('integer') || types.has('number');
  if (types.has('boolean') && Object.hasOwn(FLAGS, unquoted.toLowerCase()) && !(is_number && NUMBER.test(unquoted)))
    return FLAGS[unquoted.toLowerCase()];
  return is_number && NUMBER.test(unquoted) ? unquoted : text;
}

/** Parses a list or an object in text that is encoded once or twice. Long integers would lose digits, so such text stays as it is. */
function parseNested(text: string): unknown {
  let value: unknown = text;
  for (let times = 0; times < 3 && typeof value === 'string'; times += 1) {
    if (/\d{16}/.test(value)) return undefined;
    try {
      const parsed: unknown = JSON.parse(value);
      // A person would see one value and the tool would get the other.
      if (countWrittenNames(value) > countNames(parsed)) return undefined;
      value = parsed;
    } catch {
      return undefined;
    }
  }
  return value;
}

/** Counts the names in a valid JSON text, repeated ones as often as they stand there. */
const countWrittenNames = (text: string): number =>
  [...text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length;

const countNames = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce<number>((sum, part) => sum + countNames(part), isObject(value) ? Object.keys(value).length : 0)
    : 0;

/** Removes blanks and quotes around one of the choices. */
function convertChoice({ enum: choices, const: only }: Json, text: string): string {
  const values = Array.isArray(choices) ? choices : only === undefined ? [] : [only];
  if (values.length === 0 || values.includes(text)) return text;
  const plain = trimName(text);
  return values.includes(plain) ? plain : text;
}

/** Removes blanks, and one pair of quotes, around a text. */
const trimName = (text: string) =>
  text
    .trim()
    .replace(/^(["'`])(.*)\1$/s, '$2')
    .trim();

/** Lists the types that a schema allows; null if it allows any. */
function listTypes(schema: Json, root: Json, depth = 0): Set<string> | null {
  if (depth > DEEPEST) return null;
  if (typeof schema.type === 'string') return new Set([schema.type]);
  if (Array.isArray(schema.type)) return new Set(schema.type.map(String));
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  if (!alternatives) return null;
  const types = new Set<string>();
  for (const alternative of alternatives) {
    const resolved = resolve(alternative, root);
    const more = resolved && listTypes(resolved, root, depth + 1);
    if (!more) return null;
    for (const type of more) types.add(type);
  }
  return types;
}

/** Returns the part of a schema that describes values of a type: the only alternative of it, or the schema itself. */
function findPart(schema: Json, type: string, root: Json): Json {
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray) as unknown[] | undefined;
  if (!alternatives) return schema;
  const fitting = alternatives.map((it) => resolve(it, root)).filter((it) => it && (listTypes(it, root)?.has(type) ?? true));
  return fitting.length === 1 ? fitting[0]! : {};
}

/** Follows a reference within the schema; null for one that leads elsewhere, and for schemas that are not objects. */
function resolve(schema: unknown, root: Json): Json | null {
  let found = schema;
  for (let times = 0; times < DEEPEST && isObject(found) && typeof found.$ref === 'string'; times += 1) {
    if (!found.$ref.startsWith('#')) return null;
    const keys = found.$ref.slice(1).split('/').filter(Boolean);
    found = keys.reduce<unknown>(
      (value, key) => Object(value)[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')],
      root,
    );
  }
  return isObject(found) ? found : null;
}
