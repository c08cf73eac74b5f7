import { parseJson } from '../ui/json.ts';
import { formatLocalTime } from '../ui/local-time.ts';
import { adaptField, type Field, listNestedFields, listVariantFields, type Values } from './fields.ts';

export interface FieldFault {
  path: string;
  message: string;
}

/** Returns the values of the controls for a record, or the contract's defaults for a new one. */
export function toControls(fields: Field[], record: Values | null): Values {
  const record_values = Object.fromEntries(fields.map(({ name, fallback }) => [name, record?.[name] ?? fallback ?? null]));
  return Object.fromEntries(fields.map((field) => [field.name, toControl(field, record_values[field.name], record_values)]));
}

function toControl(field: Field, value: unknown, record_values: Values): unknown {
  switch (field.control) {
    case 'json':
      return value === null || value === undefined ? '' : JSON.stringify(value, null, 2);
    case 'nested': {
      const fields = listNestedFields(field, record_values);
      if (value === null || !fields) return null;
      return toControls(fields, value as Values);
    }
    case 'variants':
      return (value as Values[]).map((entry) => variantControls(field, entry));
    case 'time':
      return typeof value === 'string' ? formatLocalTime(value) : '';
    case 'secret':
      return '';
    case 'yes_no':
    case 'switch':
      // A switch without a default is not sent until it is changed.
      return typeof value === 'boolean' ? value : null;
    case 'shares':
      return ((value ?? []) as number[]).map(formatPercent);
    case 'tags':
    case 'guarded_tools':
    case 'references':
      return value ?? [];
    default:
      return value ?? '';
  }
}

/** Returns the controls of a list's entry; an entry that has only its type gets the contract's defaults. */
export const variantControls = (field: Field, entry: Values): Values => ({
  ...pickType(field, entry),
  ...toControls(listVariantFields(field, entry.type), entry),
});

const pickType = (field: Field, { type }: Values): Values => (field.entry ? {} : { type });

/** Returns the values to send for the controls of a form, and the controls with errors. */
export function toWire(fields: Field[], controls: Values): { values: Values; faults: FieldFault[] } {
  const values: Values = {};
  const faults: FieldFault[] = [];
  for (const field of fields) {
    const { value, fault } = toWireValue(field, controls);
    if (value !== undefined) values[field.name] = value;
    for (const { path, message } of fault ?? []) faults.push({ path: path ? `${field.name}.${path}` : field.name, message });
  }
  return { values, faults };
}

function toWireValue(whole: Field, controls: Values): { value?: unknown; fault?: FieldFault[] } {
  const field = adaptField(whole, controls);
  if (!field) return toEmptyWire({ ...whole, required: false });
  const control = controls[field.name];
  if (field.control === 'nested') return toNestedWire(field, controls);
  if (field.control === 'variants') return toVariantsWire(field, control as Values[]);
  if (control === '' || control === null || control === undefined) return toEmptyWire(field);
  if (field.nullable && Array.isArray(control) && control.length === 0) return { value: null };
  if (field.control === 'shares') return parseShares(control as string[]);
  if (field.control === 'json') return parseJsonControl(control as string);
  if (field.control === 'time') return { value: new Date(control as string).toISOString() };
  return { value: control };
}

function toNestedWire(field: Field, controls: Values): { value?: unknown; fault?: FieldFault[] } {
  const fields = listNestedFields(field, controls);
  const control = controls[field.name] as Values | null;
  if (!fields || !control) return field.nullable ? { value: null } : {};
  const { values, faults } = toWire(fields, control);
  return { value: values, fault: faults };
}

function toVariantsWire(field: Field, entries: Values[]): { value?: unknown; fault?: FieldFault[] } {
  const wire_entries = entries.map((entry) => ({
    type: pickType(field, entry),
    ...toWire(listVariantFields(field, entry.type), entry),
  }));
  return {
    value: wire_entries.map(({ type, values }) => ({ ...type, ...values })),
    fault: wire_entries.flatMap(({ faults }, at) => faults.map(({ path, message }) => ({ path: `${at}.${path}`, message }))),
  };
}

function toEmptyWire(field: Field): { value?: unknown; fault?: FieldFault[] } {
  if (field.nullable) return { value: null };
  if (field.required) return { fault: [{ path: '', message: `${field.label} is required` }] };
  if (field.control === 'text' || field.control === 'long' || field.control === 'code')
    return field.fallback === '' ? { value: '' } : {};
  return {};
}

/** Formats `80 %` without the errors of binary fractions. */
const formatPercent = (share: number) => `${Number((share * 100).toPrecision(12))} %`;

function parseShares(texts: string[]): { value?: unknown; fault?: FieldFault[] } {
  const percents = texts.map((text) => Number(text.replace('%', '').trim() || Number.NaN));
  const wrong = texts.find((_, at) => !Number.isFinite(percents[at]));
  if (wrong !== undefined) return { fault: [{ path: '', message: `${wrong} is not a percentage such as 80 %` }] };
  return { value: percents.map((percent) => Number((percent / 100).toPrecision(12))) };
}

function parseJsonControl(text: string): { value?: unknown; fault?: FieldFault[] } {
  const read = parseJson(text);
  return 'wrong' in read ? { fault: [{ path: '', message: read.wrong }] } : read;
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** Returns only the changed values, so that another person's change to another field is kept. */
export function findChanges(before: Values, values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !same(value, before[name])));
}

/** Returns the controls of a newer state, except for those that the user has edited. */
export function carryEdits(edits: Values, before: Values, newer: Values): Values {
  return Object.fromEntries(
    Object.entries(edits).map(([name, value]) => [name, same(value, before[name]) ? newer[name] : value]),
  );
}

/** Returns the message of a problem with the errors that belong to no field of the form. */
export function nameHomeless({ message, errors }: { message: string; errors: readonly FieldFault[] }, fields: Field[]): string {
  const homeless = errors.filter(({ path }) => !fields.some(({ name }) => name === path.split('.')[0]));
  return [message, homeless.map((fault) => `${fault.path}: ${fault.message}`).join('. ')].filter(Boolean).join(' ');
}

/** Returns the errors of a field and of its nested fields. */
export function formatFieldFault(faults: readonly FieldFault[], path: string): string | undefined {
  const matches = faults.filter((fault) => fault.path === path || fault.path.startsWith(`${path}.`));
  if (matches.length === 0) return undefined;
  return matches
    .map((fault) => (fault.path === path ? fault.message : `${fault.path.slice(path.length + 1)}: ${fault.message}`))
    .join('. ');
}
