import { z } from 'zod';
import type { Kind } from './references.ts';

export type Control =
  | 'text'
  | 'long'
  | 'code'
  | 'secret'
  | 'number'
  | 'switch'
  | 'yes_no'
  | 'choice'
  | 'tags'
  | 'shares'
  | 'guarded_tools'
  | 'reference'
  | 'references'
  | 'model'
  | 'suggested'
  | 'time'
  | 'json'
  | 'nested'
  | 'variants'
  | 'version';

export type Values = Record<string, unknown>;

export interface Field {
  name: string;
  label: string;
  description?: string | undefined;
  placeholder?: string | undefined;
  control: Control;
  required: boolean;
  nullable: boolean;
  fallback: unknown;
  options?: string[] | undefined;
  /** Labels for options that are not words, such as ids. */
  option_labels?: Record<string, string>;
  min?: number | undefined;
  max?: number | undefined;
  /** The kind of record that a reference points to. */
  of?: Kind;
  /** The label of the empty choice, which is sent as null. */
  none?: string;
  /** The nested fields, which may depend on other values of the form; null if they are not known. */
  nested?: (values: Values) => z.ZodType | null;
  nested_overrides?: Overrides;
  /** The schemas of a list's entries, by their `type`. */
  variants?: Record<string, z.ZodType>;
  /** The schema of a list's entries, if they have no `type`. */
  entry?: z.ZodType;
  variant_overrides?: Overrides;
  /** True if the only entry of a list can be removed, too. */
  can_be_empty?: boolean;
  /** How the field looks for each value of another field; without one it is not shown, and is empty. */
  by?: { field: string; choices: Record<string, Partial<Field>> };
  /** True if the field is not shown in the form. */
  hidden?: boolean;
  /** True if the field cannot be changed after creation. */
  fixed?: boolean;
  /** True if what is typed may contain a secret, so that no draft keeps it. */
  holds_secret?: boolean;
}

export type Overrides = Record<string, Partial<Field>>;

interface JsonSchema {
  type?: string | string[];
  format?: string;
  enum?: string[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  default?: unknown;
  description?: string;
  example?: unknown;
  minimum?: number;
  maximum?: number;
}

/** Returns the form fields of a contract's schema. */
export function toFields(schema: z.ZodType, overrides: Overrides = {}): Field[] {
  const json_schema = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const whole = json_schema.$ref ? { ...json_schema, ...resolveRef(json_schema, json_schema.$defs!) } : json_schema;
  const required = whole.required ?? [];
  const fields = Object.entries(whole.properties!).map(([name, property]) => ({
    ...toField(name, property, whole.$defs ?? {}),
    required: required.includes(name),
    ...overrides[name],
  }));
  return fields.filter(({ hidden }) => !hidden).map((field) => ({ ...field, description: forPeople(field.description) }));
}

/** Returns the fields of a new record with these values instead of the contract's defaults. */
export const presetFields = (fields: Field[], values: Record<string, string>): Field[] =>
  fields.map((field) => (values[field.name] ? { ...field, fallback: values[field.name] } : field));

/** Rewords a description of a JSON property for a form field. */
function forPeople(description: string | undefined): string | undefined {
  if (description?.startsWith('Identifier issued')) return undefined;
  return description
    ?.replaceAll(/\b(Null|Left out): /g, 'If empty: ')
    .replaceAll(/\bnull: /g, 'if empty: ')
    .replaceAll('`', '');
}

/** Returns the fields of an update: the create fields that can be changed, and fields that exist only in an update. */
export function listChangeableFields(create: z.ZodType, update: z.ZodType, overrides: Overrides = {}): Field[] {
  const created = toFields(create, overrides);
  return toFields(update, overrides).map((field) => {
    const created_field = created.find(({ name }) => name === field.name);
    if (!created_field) return field;
    return created_field.control === 'secret'
      ? { ...created_field, required: false, description: 'Leave it empty to keep the stored value.' }
      : created_field;
  });
}

function toField(name: string, property: JsonSchema, defs: Record<string, JsonSchema>): Field {
  const { inner, nullable } = unwrapType(property, defs);
  return {
    name,
    label: formatLabel(name),
    description: property.description ?? inner.description,
    placeholder: typeof property.example === 'string' ? property.example : undefined,
    control: inner.type === 'boolean' && nullable ? 'yes_no' : chooseControl(inner),
    required: false,
    nullable,
    fallback: property.default,
    options: inner.enum ?? inner.items?.enum,
    min: omitSafeBound(inner.minimum),
    max: omitSafeBound(inner.maximum),
  };
}

function unwrapType(property: JsonSchema, defs: Record<string, JsonSchema>): { inner: JsonSchema; nullable: boolean } {
  const whole = resolveRef(property, defs);
  if (Array.isArray(whole.type)) {
    const [type = 'null'] = whole.type.filter((name) => name !== 'null');
    return { inner: { ...whole, type }, nullable: whole.type.includes('null') };
  }
  if (!whole.anyOf) return { inner: whole, nullable: false };
  const parts = whole.anyOf.map((part) => resolveRef(part, defs));
  const inner = parts.find(({ type }) => type !== 'null')!;
  return { inner, nullable: parts.some(({ type }) => type === 'null') };
}

const resolveRef = (it: JsonSchema, defs: Record<string, JsonSchema>): JsonSchema =>
  it.$ref ? { ...defs[it.$ref.replace('#/$defs/', '')], ...it, $ref: '' } : it;

/** Hides the bounds of safe integers, which every integer has. */
const omitSafeBound = (value: number | undefined) =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER ? value : undefined;

function chooseControl({ type, format, enum: options, items }: JsonSchema): Control {
  if (options) return 'choice';
  if (type === 'boolean') return 'switch';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string') return format === 'date-time' ? 'time' : 'text';
  if (type === 'array' && items?.type === 'string') return 'tags';
  return 'json';
}

const WORDS: Record<string, string> = {
  mcp: 'MCP',
  url: 'URL',
  api: 'API',
  tsv: 'TSV',
  usd: 'US dollars',
  pii: 'PII',
  json: 'JSON',
  id: 'ID',
};

function formatLabel(name: string): string {
  const words = name
    .replace(/_ids$/, 's')
    .replace(/_id$/, '')
    .split('_')
    .map((word) => WORDS[word] ?? word);
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns the field as it looks for these values; null: it is not shown. */
export function adaptField(field: Field, values: Values): Field | null {
  if (!field.by) return field;
  const look = field.by.choices[values[field.by.field] as string];
  return look ? { ...field, ...look } : null;
}

/** True if the field, in any of its looks, or a field in it may hold a secret. */
export function mayHoldSecret({ nested_overrides, variant_overrides, by, ...field }: Partial<Field>): boolean {
  const parts = [...Object.values({ ...nested_overrides, ...variant_overrides }), ...Object.values(by?.choices ?? {})];
  return field.control === 'secret' || field.holds_secret === true || parts.some(mayHoldSecret);
}

/** Returns the nested fields for the current values. */
export const listNestedFields = (field: Field, values: Values): Field[] | null => {
  const schema = field.nested?.(values);
  return schema ? toFields(schema, field.nested_overrides) : null;
};

/** Returns the fields of a list's entry of this type, without the type itself. */
export const listVariantFields = ({ entry, variants, variant_overrides }: Field, type: unknown): Field[] =>
  entry
    ? toFields(entry, variant_overrides)
    : toFields(variants![type as string]!, { ...variant_overrides, type: { hidden: true } });

/** Returns the contract's description of entries of this type. */
export const variantAbout = ({ variants = {} }: Field, type: unknown): string | undefined =>
  variants[type as string] && toFields(variants[type as string]!).find(({ name }) => name === 'type')?.description;

/** Returns the option that leaves a field empty. */
export const emptyChoice = ({ none, required }: Field) => ({ value: '', label: none ?? (required ? 'Choose …' : '—') });

/** Returns the options of a field from which one is chosen. */
export const fieldChoices = (field: Field) => [
  ...(field.nullable || field.fallback === undefined ? [emptyChoice(field)] : []),
  ...field.options!.map((option) => ({
    value: option,
    label: field.option_labels?.[option] ?? option.replaceAll('_', ' '),
  })),
];
