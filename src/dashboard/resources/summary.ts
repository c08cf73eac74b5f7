import { adaptField, type Field, type Values } from './fields.ts';
import { toControls } from './values.ts';

const MOST_CHARACTERS = 24;

/** Returns what a group of fields contains, for the line that stands for it: the values that differ from the defaults. */
export function summarizeFields(fields: Field[], controls: Values): string {
  const defaults = toControls(fields, null);
  const changed = fields.filter(
    (field) => adaptField(field, controls) && JSON.stringify(controls[field.name]) !== JSON.stringify(defaults[field.name]),
  );
  return changed.length > 0 ? changed.map((field) => summarize(field, controls[field.name])).join(' · ') : 'defaults';
}

function summarize({ label, control }: Field, value: unknown): string {
  if (typeof value === 'boolean') return `${label}: ${value ? 'on' : 'off'}`;
  if (Array.isArray(value)) return `${label}: ${value.length}`;
  if (typeof value === 'number' || (typeof value === 'string' && control !== 'secret' && isShort(value)))
    return `${label}: ${value}`;
  return `${label}: set`;
}

/** True for text that fits the line; ids and longer texts are only said to be there. */
const isShort = (text: string) => text !== '' && text.length <= MOST_CHARACTERS;
