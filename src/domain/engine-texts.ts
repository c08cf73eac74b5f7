/** Counts the bytes that a character takes in the engine, as JSON. Half a surrogate pair is escaped. */
function countEngineBytes(character: string): number {
  const escaped = JSON.stringify(character).length - 2;
  const code = character.codePointAt(0) as number;
  if (escaped > character.length) return escaped;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code < 0x10000 ? 3 : 4;
}

const CUT = '…';

/**
 * Truncates a text to a number of bytes in the engine, which rejects a run whose texts are larger. A truncated text ends in `…`.
 */
export function truncateToBytes(text: string, most_bytes: number): string {
  const room = most_bytes - countEngineBytes(CUT);
  let bytes = 0;
  let result = '';
  for (const character of text) {
    bytes += countEngineBytes(character);
    if (bytes > most_bytes) return `${result}${CUT}`;
    if (bytes <= room) result += character;
  }
  return text;
}

/** Temporal accepts 400 bytes for a summary, its encoding included, and 2 KiB for a search attribute. */
export const SUMMARY_BYTES = 300;
export const ATTRIBUTE_BYTES = 1_500;
