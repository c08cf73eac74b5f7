import type { SchemaFamily } from '../domain/tool-rules.ts';
import { nameReferences } from './references.ts';
import { findTarget, isSchema, type Schema, toSchemas, VALUE_KEYWORDS } from './schema-parts.ts';
import { toSubsetSchema } from './subset-schemas.ts';

const toTexts = (value: unknown): string[] => (Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []);
const toTypes = (type: unknown): string[] => (typeof type === 'string' ? [type] : toTexts(type));

/**
 * Returns a tool's parameters as vendors accept them. What a call may contain is never narrowed: a rule that a vendor refuses is left
 * out towards the model. The arguments of a call are checked against the tool's own schema.
 */
export function toVendorSchema(parameters: Schema, family: SchemaFamily): Schema {
  const root = flattenRoot(parameters);
  const cleaned = { ...clean(root, family), type: 'object' };
  const whole = { properties: {}, ...cleaned };
  return family === 'gemini' || family === 'moonshot' ? toSubsetSchema(whole, family) : nameReferences(whole);
}

const COMBINED = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else', '$ref'];

/** How many combinations within each other are read, and how many schemas in all: references to references multiply. */
const DEEPEST = 8;
const MOST_BRANCHES = 5_000;

/** Vendors take objects only, and no alternatives at the top: their properties become those of one object. */
const flattenRoot = (parameters: Schema): Schema =>
  flatten(parameters, { document: parameters, depth: 0, left: { branches: MOST_BRANCHES } });

function flatten(
  schema: Schema,
  { document, depth, left }: { document: Schema; depth: number; left: { branches: number } },
): Schema {
  const root = resolve(schema, document);
  left.branches -= 1;
  if (!COMBINED.some((keyword) => keyword in root) || depth > DEEPEST || left.branches < 0) return root;
  const own = Object.fromEntries(Object.entries(root).filter(([keyword]) => !COMBINED.includes(keyword)));
  const flattenBranch = (branch: Schema) => flatten(branch, { document, depth: depth + 1, left });
  const listBranches = (keyword: string) => toSchemas(root[keyword]).map(flattenBranch);
  const all = listBranches('allOf');
  const choices = [listBranches('anyOf'), listBranches('oneOf')];
  const conditional = toSchemas([root.then, root.else]).map(flattenBranch);
  const properties = joinProperties([root, ...all, ...choices.flat(), ...conditional]);
  const required = [
    ...[root, ...all].flatMap((part) => toTexts(part.required)),
    ...choices.flatMap((branches) => listShared(branches.map((branch) => toTexts(branch.required)))),
  ];
  return { ...own, type: 'object', properties, ...(required.length > 0 ? { required } : {}) };
}

/** Returns the properties of several schemas; one that they describe differently may be any of these. */
function joinProperties(schemas: readonly Schema[]): Schema {
  const found = new Map<string, Map<string, unknown>>();
  for (const { properties } of schemas)
    for (const [name, schema] of Object.entries(isSchema(properties) ? properties : {})) {
      const forms = found.get(name) ?? new Map<string, unknown>();
      found.set(name, forms.set(JSON.stringify(schema), schema));
    }
  return Object.fromEntries([...found].map(([name, forms]) => [name, joinForms([...forms.values()])]));
}

const joinForms = ([only, ...others]: unknown[]): unknown => (others.length === 0 ? only : { anyOf: [only, ...others] });

const listShared = ([first = [], ...others]: string[][]): string[] =>
  first.filter((name) => others.every((names) => names.includes(name)));

/** Returns the schema that a reference within the same document names; the schema itself if it names none. */
function resolve(schema: Schema, root: Schema): Schema {
  const seen = new Set<unknown>();
  let current = schema;
  while (typeof current.$ref === 'string' && !seen.has(current.$ref)) {
    seen.add(current.$ref);
    const target = findTarget(current.$ref, root);
    if (target === undefined) return current;
    const { $ref: _, ...siblings } = current;
    const definitions = Object.fromEntries(
      ['$defs', 'definitions'].flatMap((name) => (name in siblings ? [[name, siblings[name]]] : [])),
    );
    current = {
      ...target,
      ...(typeof siblings.description === 'string' ? { description: siblings.description } : {}),
      ...definitions,
    };
  }
  return current;
}

const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const SINGLE = ['items', 'contains', 'propertyNames', 'not', 'if', 'then', 'else', 'contentSchema'];
const EITHER = ['additionalProperties', 'unevaluatedProperties', 'unevaluatedItems', 'additionalItems'];
const NOTES = ['$schema', '$id', '$comment', '$anchor', '$vocabulary', 'id'];
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** Cleans a schema and those within it. A list in place of a schema is a tuple of an older draft. */
function clean(schema: unknown, family: SchemaFamily): Schema {
  const cleaned: Schema = {};
  for (const [keyword, value] of Object.entries(isSchema(schema) ? schema : {})) {
    if (isNote(keyword) || (value === null && !VALUE_KEYWORDS.includes(keyword))) continue;
    if (MAPS.includes(keyword)) cleaned[keyword] = cleanMap(value, { family, named_by_pattern: keyword === 'patternProperties' });
    else if (keyword === 'items' && Array.isArray(value)) cleaned.prefixItems = value.map((one) => clean(one, family));
    else if (LISTS.includes(keyword)) {
      if (Array.isArray(value) && value.length > 0) cleaned[keyword] = value.map((one) => clean(one, family));
    } else if (SINGLE.includes(keyword)) cleaned[keyword] = clean(value, family);
    else if (EITHER.includes(keyword)) cleaned[keyword] = isSchema(value) ? clean(value, family) : value !== false;
    else cleaned[keyword] = value;
  }
  return repair(withoutNarrowed(Object(schema) as Schema, cleaned), family);
}

/** Leaves out what would forbid more than before, because something was left out within it or next to it. */
function withoutNarrowed(schema: Schema, cleaned: Schema): Schema {
  const has_changed = (keyword: string) => JSON.stringify(schema[keyword]) !== JSON.stringify(cleaned[keyword]);
  const kept = { ...cleaned };
  const countNames = ({ patternProperties: map }: Schema) => Object.keys(isSchema(map) ? map : {}).length;
  if (countNames(schema) !== countNames(cleaned))
    for (const keyword of ['additionalProperties', 'unevaluatedProperties']) delete kept[keyword];
  if ('not' in cleaned && has_changed('not')) delete kept.not;
  if ('if' in cleaned && has_changed('if')) for (const keyword of ['if', 'then', 'else']) delete kept[keyword];
  if ('oneOf' in cleaned && has_changed('oneOf')) {
    // Looser alternatives may hold at the same time.
    kept.anyOf ??= kept.oneOf;
    delete kept.oneOf;
  }
  return kept;
}

/** True for what says nothing about a value. No keyword begins with two underscores, but members of every object do. */
const isNote = (keyword: string) => NOTES.includes(keyword) || keyword.startsWith('x-') || keyword.startsWith('__');

function cleanMap(value: unknown, { family, named_by_pattern }: { family: SchemaFamily; named_by_pattern: boolean }): Schema {
  const entries = Object.entries(isSchema(value) ? value : {});
  // A property that must not be there is not shown.
  const shown = entries.filter(([name, schema]) => schema !== false && (!named_by_pattern || isPlainPattern(name, family)));
  return Object.fromEntries(shown.map(([name, schema]) => [name, clean(schema, family)]));
}

/** Repairs the keywords that vendors refuse. */
function repair({ type, required, enum: values, pattern, $ref, ...rest }: Schema, family: SchemaFamily): Schema {
  const types = toTypes(type).filter((name) => TYPES.includes(name));
  const needed = [...new Set(toTexts(required))];
  const listed = [...new Map((Array.isArray(values) ? values : []).map((value) => [JSON.stringify(value), value])).values()];
  const repaired: Schema = {
    ...($ref === undefined ? {} : { $ref }),
    ...(types.length > 0 ? { type: types.length === 1 ? types[0] : types } : {}),
    ...toNumericBounds(rest),
    ...(needed.length > 0 ? { required: needed } : {}),
    ...(listed.length > 0 ? { enum: listed } : {}),
    ...(typeof pattern === 'string' && isPlainPattern(pattern, family) ? { pattern } : {}),
  };
  if (types.includes('object') && !isSchema(repaired.properties)) repaired.properties = {};
  if ((types.includes('array') || 'prefixItems' in repaired) && !isSchema(repaired.items)) repaired.items = {};
  return repaired;
}

/** `exclusiveMinimum: true` is how older drafts say that the minimum itself is not allowed. */
function toNumericBounds(schema: Schema): Schema {
  const bounds = { ...schema };
  for (const [exclusive, inclusive] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof bounds[exclusive] !== 'boolean') continue;
    if (bounds[exclusive] && typeof bounds[inclusive] === 'number') {
      bounds[exclusive] = bounds[inclusive];
      delete bounds[inclusive];
    } else delete bounds[exclusive];
  }
  return bounds;
}

/** Matches what not every vendor's engine has: references to groups, and groups other than plain, silent and named ones. */
const SPECIAL = /\\[1-9]|\\k<|\(\?(?!:|<[A-Za-z_])/;
/** Matches what llama.cpp cannot turn into its grammar. */
const NOT_IN_GRAMMARS = /\(\?|\\[bBpPuxcAZz]|[*+?}]\?/;

/** True for a pattern that every vendor of the family takes. */
function isPlainPattern(pattern: string, family: SchemaFamily): boolean {
  if (SPECIAL.test(pattern)) return false;
  return family !== 'local' || (pattern.startsWith('^') && pattern.endsWith('$') && !NOT_IN_GRAMMARS.test(pattern));
}
