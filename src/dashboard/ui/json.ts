/** Parses a text that a person entered; `wrong` is the reason if it is not valid. */
export function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): { value: unknown } | { wrong: string } {
  try {
    return { value: parse(text) };
  } catch (error) {
    return { wrong: `Not valid JSON: ${(error as Error).message}` };
  }
}
