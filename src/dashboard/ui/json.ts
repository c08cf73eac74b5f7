/** Parses a text that a person entered; `wrong` is the reason if it is not valid. */
export function parsedJson(text: string): { value: unknown } | { wrong: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { wrong: `Not valid JSON: ${(error as Error).message}` };
  }
}

/** JSON indented, as text or as a value; any other text unchanged. */
export function pretty(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  const read = /^\s*[{[]/.test(value) ? parsedJson(value) : null;
  return read && 'value' in read ? JSON.stringify(read.value, null, 2) : value;
}
