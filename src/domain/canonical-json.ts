import { isExactNumber } from './exact-json.ts';

/**
 * Serializes JSON with the keys of objects in a fixed order, for comparing and hashing: databases and programs order keys
 * differently.
 */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner) || isExactNumber(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text ?? 'null';
}
