/** How many characters and levels an output schema may have: every request to the model carries it. */
export const OUTPUT_SCHEMA_CHARACTERS = 32_000;
export const OUTPUT_SCHEMA_LEVELS = 32;

/** Whether a JSON value has at most this many levels of objects and arrays. */
export function isWithinLevels(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return most > 0 && Object.values(value).every((inner) => isWithinLevels(inner, most - 1));
}

/** Asks the model for another answer. */
export const repairRequest = (faults: readonly string[]) =>
  `Your answer does not fit the output schema: ${faults.join('; ')}. Answer again with one JSON value that fits it, and nothing else.`;

/** Why a run fails whose second answer does not fit either. */
export const invalidAnswer = (faults: readonly string[]) =>
  `The answer does not fit output_schema, nor did the one before it: ${faults.join('; ')}`;
