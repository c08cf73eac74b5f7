import type { z } from 'zod';
import { isStorable } from '../contracts/common.ts';
import { type FieldError, unprocessable } from '../domain/errors.ts';

const DEEPEST = 64;

/** The parsed value, or a 422 that names every field that is wrong. */
export function validated<S extends z.ZodType>(schema: S, value: unknown, what: string): z.output<S> {
  const unstorable = findUnstorable(value, [], 0);
  if (unstorable) throw unprocessable([unstorable]);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.map(({ path, message }): FieldError => ({ path: path.join('.') || what, message }));
  throw unprocessable(errors);
}

/** Text that the database cannot hold is refused at the door, as is nesting that no resource needs. */
function findUnstorable(value: unknown, path: string[], depth: number): FieldError | null {
  if (depth > DEEPEST) return { path: path.slice(0, 4).join('.'), message: `Nested more than ${DEEPEST} levels deep` };
  if (typeof value === 'string') {
    return isStorable(value) ? null : { path: path.join('.'), message: 'Holds a null character or broken Unicode' };
  }
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const found = findUnstorable(key, [...path, 'key'], depth + 1) ?? findUnstorable(inner, [...path, key], depth + 1);
    if (found) return found;
  }
  return null;
}
