import { findTarget, isSchema, type Schema, toSchemas } from './schema-parts.ts';

/** A kind of schema in which each has one type, or is a choice of some that have. */
interface Subset {
  /** The keywords that it has for every type and for each. */
  keywords: { any: string[]; [type: string]: string[] };
  formats: Record<string, string[]>;
  /** The types whose values may be listed. */
  listed: string[];
  /** True if null is a keyword next to the type, false if it is a separate type. */
  has_nullable: boolean;
  /** True if lists must say what they hold. */
  needs_items: boolean;
  /** Names that no property may have. */
  reserved: string[];
}

const TEXTS = ['minLength', 'maxLength', 'pattern'];
const RANGE = ['minimum', 'maximum'];
const COUNTS = ['minItems', 'maxItems'];

/** Gemini: that of OpenAPI 3.0. Moonshot: its own, as it publishes it with its validator. */
const SUBSETS: Record<'gemini' | 'moonshot', Subset> = {
  gemini: {
    keywords: { any: ['description'], string: TEXTS, number: RANGE, integer: RANGE, array: COUNTS },
    formats: { string: ['date-time', 'enum'], number: ['float', 'double'], integer: ['int32', 'int64'] },
    listed: ['string'],
    has_nullable: true,
    needs_items: true,
    reserved: [],
  },
  moonshot: {
    keywords: {
      any: ['title', 'description', 'default'],
      string: ['minLength', 'maxLength'],
      number: RANGE,
      integer: RANGE,
      array: COUNTS,
    },
    formats: {},
    listed: ['string', 'number', 'integer'],
    has_nullable: false,
    needs_items: false,
    reserved: ['$defs', '$ref', 'anyOf', 'required', 'additionalProperties'],
  },
};

const ANY: Schema[] = ['string', 'number', 'boolean', 'object'].map((type) => ({ type }));

/** Returns a schema in a vendor's terms: no references, one type each, and alternatives as `anyOf`. */
export function toSubsetSchema(root: Schema, family: keyof typeof SUBSETS): Schema {
  return convert(root, { root, subset: SUBSETS[family], seen: [], depth: 0, left: { schemas: MOST_SCHEMAS } });
}

interface Place {
  root: Schema;
  subset: Subset;
  /** The references on the way to this schema. */
  seen: string[];
  /** The number of schemas around this one. */
  depth: number;
  /** How many schemas may still be read: references to references multiply. */
  left: { schemas: number };
}

const MOST_SCHEMAS = 5_000;
const DEEPEST = 64;

/** Enters a schema. Returns its place; null if it is too deep, or one too many. */
function enter({ left, ...place }: Place): Place | null {
  left.schemas -= 1;
  return left.schemas > 0 && place.depth < DEEPEST ? { ...place, left, depth: place.depth + 1 } : null;
}

function convert(schema: Schema, around: Place): Schema {
  const entered = enter(around);
  const inlined = entered && inline(schema, entered);
  if (!inlined) return toOpenSchema(schema, around);
  const place = { ...entered, seen: inlined.seen };
  const merged = mergeAll(inlined.schema, place);
  const types = listTypes(merged);
  const takes_null = types.includes('null') || merged.nullable === true || merged.const === null;
  const kinds = types.filter((type) => type !== 'null');
  const branches = [...toSchemas(merged.anyOf), ...toSchemas(merged.oneOf)];
  if (branches.length > 0) return convertChoice(merged, branches, place);
  if (kinds.length === 0 && !types.includes('null')) return toChoice(listAny(place), merged.description, { takes_null, place });
  const [only, ...others] = kinds;
  if (only && others.length === 0) return withNull(convertKind(merged, only, place), takes_null, place);
  const choices = kinds.map((type) => convert({ ...merged, type, description: undefined }, place));
  return toChoice(choices, merged.description, { takes_null, place });
}

/** Returns alternatives as one schema. No keyword may stand next to them, so the description goes into the first. */
function toChoice(choices: Schema[], description: unknown, { takes_null, place }: { takes_null: boolean; place: Place }): Schema {
  const [only, ...others] = withNote(choices.flatMap(listChoices), description);
  if (!only)
    return place.subset.has_nullable
      ? { type: 'string', nullable: true, ...toNote(description) }
      : { type: 'null', ...toNote(description) };
  return withNull(others.length === 0 ? only : { anyOf: [only, ...others] }, takes_null, place);
}

/** Returns the alternatives that a schema is itself. */
const listChoices = (schema: Schema): Schema[] =>
  Array.isArray(schema.anyOf) && schema.nullable === undefined ? toSchemas(schema.anyOf) : [schema];

function withNull(schema: Schema, takes_null: boolean, { subset }: Place): Schema {
  if (!takes_null) return schema;
  return subset.has_nullable ? { ...schema, nullable: true } : { anyOf: [...listChoices(schema), { type: 'null' }] };
}

const listAny = ({ subset }: Place): Schema[] => [
  ...ANY,
  subset.needs_items ? { type: 'array', items: { type: 'string' } } : { type: 'array' },
];

/** Returns a schema that is not described further: an object if it is one, otherwise anything. */
function toOpenSchema({ $ref, description, ...own }: Schema, place: Place): Schema {
  const [type, ...others] = listTypes({ ...findTarget(String($ref), place.root), ...own });
  const is_object = type === 'object' && others.length === 0;
  return is_object ? { type, ...toNote(description) } : toChoice(listAny(place), description, { takes_null: false, place });
}

/** Returns a schema with its references resolved; null if one leads back to itself. */
function inline(schema: Schema, { root, seen }: Pick<Place, 'root' | 'seen'>): { schema: Schema; seen: string[] } | null {
  let [current, path] = [schema, seen];
  while (typeof current.$ref === 'string') {
    const { $ref, ...siblings } = current;
    if (path.includes($ref as string)) return null;
    path = [...path, $ref as string];
    current = { ...findTarget($ref as string, root), ...siblings };
  }
  return { schema: current, seen: path };
}

/** Merges what must all hold into one schema; of two equal keywords the outer one counts. */
function mergeAll(schema: Schema, around: Place): Schema {
  const { allOf, ...own } = schema;
  const parts = [own, ...toSchemas(allOf).map((part) => resolvePart(part, around))];
  const properties = joinObjects(parts.map((part) => part.properties).toReversed());
  const required = parts.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  return {
    ...joinObjects(parts.toReversed()),
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required } : {}),
  };
}

function resolvePart(part: Schema, around: Place): Schema {
  const place = enter(around);
  const found = place && inline(part, place);
  return found ? mergeAll(found.schema, { ...place, seen: found.seen }) : {};
}

/** Returns an object with the members of several; the last counts. */
const joinObjects = (objects: unknown[]): Schema =>
  Object.fromEntries(objects.flatMap((object) => (isSchema(object) ? Object.entries(object) : [])));

/** Returns the types of a schema, as it names them or as its other keywords imply. */
function listTypes({ type, properties, items, enum: values, const: only }: Schema): string[] {
  if (typeof type === 'string') return [type];
  if (Array.isArray(type) && type.length > 0) return type.map(String);
  const given = Array.isArray(values) ? values : only === undefined ? [] : [only];
  if (given.length > 0) return [...new Set(given.map(nameType))];
  if (isSchema(properties)) return ['object'];
  return isSchema(items) ? ['array'] : [];
}

function nameType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Returns a schema with alternatives, each of which has all that must hold besides. */
function convertChoice(merged: Schema, branches: Schema[], place: Place): Schema {
  const { anyOf: _, oneOf: __, description, type, ...shared } = merged;
  const others = branches.filter(({ type: own, const: only }) => own !== 'null' && only !== null);
  const base = { ...('properties' in shared || type === 'object' ? shared : {}), ...(type === undefined ? {} : { type }) };
  const has_parts = 'properties' in shared || type === 'object';
  const choices = others.map((branch) => convert(has_parts ? { allOf: [branch], ...base } : { ...base, ...branch }, place));
  return toChoice(choices, description, { takes_null: others.length < branches.length || merged.nullable === true, place });
}

const toNote = (text: unknown): Schema => (typeof text === 'string' && text !== '' ? { description: text } : {});

const withNote = ([first, ...others]: Schema[], description: unknown): Schema[] =>
  first ? [{ ...toNote(description), ...first }, ...others] : [];

function convertKind(schema: Schema, type: string, place: Place): Schema {
  const { keywords, formats } = place.subset;
  const names = [...keywords.any, ...(keywords[type] ?? [])];
  const kept = Object.fromEntries(names.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])));
  const format = formats[type]?.includes(String(schema.format)) ? { format: schema.format } : {};
  const converted = { type, ...kept, ...format, ...toValues(schema, type, place) };
  if (type === 'array') return { ...converted, ...toItems(schema, place) };
  return type === 'object' ? { ...converted, ...toProperties(schema, place) } : converted;
}

function toProperties(schema: Schema, place: Place): Schema {
  const { reserved, has_nullable } = place.subset;
  const found = Object.entries(isSchema(schema.properties) ? schema.properties : {});
  const properties = found.filter(([name]) => !reserved.includes(name));
  if (properties.length === 0) return has_nullable ? {} : { properties: {} };
  const names = properties.map(([name]) => name);
  const required = [...new Set(Array.isArray(schema.required) ? schema.required : [])].filter((name) => names.includes(name));
  return {
    properties: Object.fromEntries(properties.map(([name, inner]) => [name, convert(Object(inner) as Schema, place)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

function toItems({ items, prefixItems }: Schema, place: Place): Schema {
  const places = toSchemas(prefixItems);
  const held = places.length > 1 ? { anyOf: places } : (places[0] ?? (isSchema(items) ? items : {}));
  return place.subset.needs_items || Object.keys(held).length > 0 ? { items: convert(held, place) } : {};
}

/** Lists the values of a type, in the description where the vendor does not take lists of them. */
function toValues({ enum: values, const: only, description }: Schema, type: string, { subset }: Place): Schema {
  const all = Array.isArray(values) ? values : only === undefined ? [] : [only];
  const given = all.filter((value) => isOfType(value, type));
  if (given.length === 0) return {};
  if (subset.listed.includes(type) && !given.includes('')) return { enum: given };
  const note = `One of: ${given.map((value) => JSON.stringify(value)).join(', ')}`;
  return { description: typeof description === 'string' && description ? `${description}. ${note}` : note };
}

const isOfType = (value: unknown, type: string): boolean => nameType(value) === (type === 'integer' ? 'number' : type);
