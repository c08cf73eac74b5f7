/** Returns the request for another answer. */
export const repairRequest = (faults: readonly string[]) =>
  `Your answer does not fit the output schema: ${faults.join('; ')}. Answer again with one JSON value that fits it, and nothing else.`;

/** Returns the error of a run whose second answer does not fit either. */
export const invalidAnswer = (faults: readonly string[]) =>
  `The answer does not fit output_schema, nor did the one before it: ${faults.join('; ')}`;
