import { z } from 'zod';

/** The largest output schema in characters and, below, in levels: every request to the model carries it. */
const OUTPUT_SCHEMA_CHARACTERS = 32_000;
const OUTPUT_SCHEMA_LEVELS = 32;

/** True if a JSON value has at most this many levels of objects and arrays. */
export function isWithinLevels(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return most > 0 && Object.values(value).every((inner) => isWithinLevels(inner, most - 1));
}

export const OutputSchema = z
  .record(z.string(), z.unknown())
  .refine((schema) => JSON.stringify(schema).length <= OUTPUT_SCHEMA_CHARACTERS, {
    message: `An output schema may have ${OUTPUT_SCHEMA_CHARACTERS} characters`,
  })
  .refine((schema) => isWithinLevels(schema, OUTPUT_SCHEMA_LEVELS), {
    message: `An output schema may have ${OUTPUT_SCHEMA_LEVELS} levels of objects and arrays`,
  });
