/**
 * Returns the reason a secret text cannot be the value of an HTTP header, as a sentence about `it` that does not quote the text;
 * null if it can.
 */
export function findHeaderError(text: string, it: string): string | null {
  try {
    new Headers([['x-value', text]]);
    return null;
  } catch {
    return `${it} has a line break within it, or another character that an HTTP header cannot carry; store it again`;
  }
}
