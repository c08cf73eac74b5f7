import { findRepeatedName, parseExact } from '../domain/exact-json.ts';
import { isTooDeepText } from '../domain/normalise.ts';
import { isSchema, type Schema } from './schema-parts.ts';

/** The parameters of a tool under names that the vendor accepts. */
interface RenamedParameters {
  parameters: Schema;
  /** The own name of each parameter that is sent under another. */
  own_names: ReadonlyMap<string, string>;
}

/** Renames parameters with names such as `$filter` or `filter[id]`. `toSent` gives each name one that no other has. */
export function renameParameters(
  parameters: Schema,
  toSent: (own_names: readonly string[]) => ReadonlyMap<string, string>,
): RenamedParameters {
  const { properties, required } = parameters;
  const sent_names = toSent(Object.keys(isSchema(properties) ? properties : {}));
  const renamed = [...sent_names].filter(([own, sent]) => own !== sent);
  if (renamed.length === 0 || !isSchema(properties)) return { parameters, own_names: new Map() };
  const rename = (name: string) => sent_names.get(name) ?? name;
  return {
    parameters: {
      ...parameters,
      properties: Object.fromEntries(Object.entries(properties).map(([name, schema]) => [rename(name), schema])),
      ...(Array.isArray(required) ? { required: required.map((name) => rename(String(name))) } : {}),
    },
    own_names: new Map(renamed.map(([own, sent]) => [sent, own])),
  };
}

/** Returns the arguments of a call under the tool's own names. What is not one JSON object stays as the model wrote it. */
export function restoreNames(args: string, own_names: ReadonlyMap<string, string> | undefined): string {
  const value = own_names && own_names.size > 0 ? tryParse(args) : null;
  if (!value) return args;
  const restored = Object.entries(value).map(([name, inner]): [string, unknown] => [own_names?.get(name) ?? name, inner]);
  const is_clear = new Set(restored.map(([name]) => name)).size === restored.length;
  return is_clear ? JSON.stringify(Object.fromEntries(restored)) : args;
}

function tryParse(text: string): Schema | null {
  if (isTooDeepText(text)) return null;
  try {
    const value = parseExact(text);
    return isSchema(value) && findRepeatedName(text) === null ? value : null;
  } catch {
    return null;
  }
}
