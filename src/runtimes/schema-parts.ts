import { isRecord } from '../domain/records.ts';

export type Schema = Record<string, unknown>;

export const isSchema: (value: unknown) => value is Schema = isRecord;
export const toSchemas = (value: unknown): Schema[] => (Array.isArray(value) ? value.filter(isSchema) : []);

/** The keywords that hold values and not schemas. */
export const VALUE_KEYWORDS = ['default', 'const', 'enum', 'examples', 'example'];

/** Returns what a reference such as `#/$defs/City` names; undefined for another document, or for nothing. */
export function findTarget(reference: string, root: Schema): Schema | undefined {
  if (!reference.startsWith('#')) return undefined;
  let target: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = decode(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
    target = (target as Schema)[name];
  }
  return isSchema(target) ? target : undefined;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
