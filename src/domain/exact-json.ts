/** An integer that a double cannot hold, in its original digits. `JSON.stringify` writes them unchanged. */
interface ExactNumber {
  readonly rawJSON: string;
}

declare global {
  interface JSON {
    parse(text: string, reviver: (this: unknown, key: string, value: unknown, context: { source: string }) => unknown): unknown;
    rawJSON(text: string): ExactNumber;
    isRawJSON(value: unknown): value is ExactNumber;
  }
}

/** The integers that are kept exact: Python rejects those of more than 4,300 digits. */
const INTEGER = /^-?(?:0|[1-9]\d{0,999})$/;
const LONG_INTEGER = /\d{16}/;

const isLarge = (value: unknown) => typeof value === 'number' && !Number.isSafeInteger(value);

/**
 * Parses JSON without changing an integer, such as an identifier of 19 digits: one that a double cannot hold becomes an
 * `ExactNumber`. Throws as `JSON.parse` does.
 */
export const parseExact = (text: string): unknown =>
  LONG_INTEGER.test(text)
    ? JSON.parse(text, (_key, value, { source }) => (isLarge(value) && INTEGER.test(source) ? JSON.rawJSON(source) : value))
    : JSON.parse(text);

export const isExactNumber = (value: unknown): value is ExactNumber => JSON.isRawJSON(value);

const listFields = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null && !isExactNumber(value) ? Object.entries(value) : [];

/**
 * Lists the places, such as `metadata.ids.0`, where a value of `parseExact` has integers that a double cannot hold, and their
 * doubles.
 */
function listLosses(value: unknown, place = ''): { place: string; double: number }[] {
  if (isExactNumber(value)) return [{ place, double: toDoubles<unknown>(value) as number }];
  return listFields(value).flatMap(([key, part]) => listLosses(part, place ? `${place}.${key}` : key));
}

/**
 * Parses JSON with doubles only, for code that calculates, and lists the integers that this changes. Throws as `JSON.parse` does.
 */
export function parseRounded(text: string): { value: unknown; losses: { place: string; double: number }[] } {
  if (!LONG_INTEGER.test(text)) return { value: JSON.parse(text), losses: [] };
  const exact = parseExact(text);
  return { value: toDoubles(exact), losses: listLosses(exact) };
}

/** Converts a value of `parseExact` to doubles only, for code that calculates. */
export function toDoubles<T>(value: T): T {
  if (isExactNumber(value)) return Number(value.rawJSON) as T;
  if (Array.isArray(value)) return value.map(toDoubles) as T;
  return typeof value === 'object' && value !== null
    ? (Object.fromEntries(listFields(value).map(([key, part]) => [key, toDoubles(part)])) as T)
    : value;
}

/** Returns arguments that were converted to the types of a schema, with the integers of `original` instead of doubles. */
export function exactly<T>(converted: T, original: unknown): T {
  const source = isExactNumber(original) ? original.rawJSON : typeof original === 'string' ? original.trim() : null;
  if (source !== null && INTEGER.test(source)) {
    if (isLarge(converted) && Number(source) === converted) return JSON.rawJSON(source) as T;
    if (typeof converted === 'string' && isExactNumber(original)) return source as T;
  }
  if (typeof converted !== 'object' || converted === null) return converted;
  const originals = new Map(listFields(original));
  if (Array.isArray(converted)) return converted.map((part, index) => exactly(part, originals.get(String(index)))) as T;
  return Object.fromEntries(listFields(converted).map(([key, part]) => [key, exactly(part, originals.get(key))])) as T;
}

/** Matches the pieces of a valid JSON text: strings, brackets, separators, and numbers and words as they are written. */
const PIECES = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const splitPieces = (text: string): string[] => text.match(PIECES)!;

/**
 * Returns the first name that an object in a valid JSON text has twice; null if there is none. Parsers differ in which of the two
 * values counts.
 */
export function findRepeatedName(text: string): string | null {
  const pieces = splitPieces(text);
  const open: Set<string>[] = [];
  for (const [at, piece] of pieces.entries()) {
    if (piece === '{' || piece === '[') open.push(new Set());
    else if (piece === '}' || piece === ']') open.pop();
    else if (pieces[at + 1] === ':') {
      const name = JSON.parse(piece) as string;
      if (open.at(-1)?.has(name)) return name;
      open.at(-1)?.add(name);
    }
  }
  return null;
}

const DEEPEST_INDENT = 40;

/** Formats JSON for people with each number and each repeated name as it is written. Throws as `JSON.parse` does. */
export function indentExactly(text: string): string {
  JSON.parse(text);
  const pieces = splitPieces(text);
  const line = (depth: number) => `\n${'  '.repeat(Math.min(depth, DEEPEST_INDENT))}`;
  let depth = 0;
  return pieces
    .map((piece, at) => {
      if (piece === '{' || piece === '[') {
        depth += 1;
        return /^[}\]]/.test(pieces[at + 1]!) ? piece : piece + line(depth);
      }
      if (piece === '}' || piece === ']') {
        depth -= 1;
        return /^[{[]/.test(pieces[at - 1]!) ? piece : line(depth) + piece;
      }
      if (piece === ',') return piece + line(depth);
      if (piece === ':') return ': ';
      return piece.startsWith('"') ? JSON.stringify(JSON.parse(piece)) : piece;
    })
    .join('');
}
