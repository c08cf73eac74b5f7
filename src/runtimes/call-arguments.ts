import { isTooDeepText } from '../domain/normalise.ts';

/** The arguments of one call, collected from the pieces of a stream. */
export interface ArgumentPieces {
  add(piece: string): void;
  /** True before the first piece that is not blank. */
  isEmpty(): boolean;
  /** True if the text so far ends with a whole JSON value. */
  isClosed(): boolean;
  /** True if nothing has come but a placeholder for arguments that may follow, such as `{}`. */
  isPlaceholder(): boolean;
  /** True if a brace may follow the text so far: within a text, or after a colon, a comma or an opening bracket. */
  acceptsBrace(): boolean;
  /** Returns the arguments. Text that is not JSON in any reading is returned as it came. */
  text(): string;
}

/** Values that some endpoints send before or after the arguments themselves. */
const PLACEHOLDERS = ['{}', 'null', '""', '[]'];

const LOOK_BACK = 64;

/** True if a text is only a placeholder for arguments that may follow, such as `{}`. */
export const isPlaceholderText = (text: string): boolean =>
  text.length < LOOK_BACK && PLACEHOLDERS.includes(text.replaceAll(/\s+/g, ''));

/** Collects pieces that follow each other. Some endpoints send all the text so far with every piece, or the whole text again. */
export function collectArguments(): ArgumentPieces {
  let values = splitValues();
  let text = '';
  let [last, pieces, repeats] = ['', 0, true];
  const mayRepeat = () => pieces > 1 && repeats;
  // Endpoints that repeat the text so far end with the whole of it.
  const findRepeated = () => (mayRepeat() && /[}\]"]\s*$/.test(last.slice(-LOOK_BACK)) && isJson(last) ? last : null);
  const isWhole = () => (mayRepeat() ? values.isClosed() && isJson(text) : values.isClosed());
  const isPlaceholder = () => isPlaceholderText(text);
  return {
    add(piece) {
      if (piece === '') return;
      if (isPlaceholder() && piece.trim() !== '') [values, text, last, pieces, repeats] = [splitValues(), '', '', 0, true];
      repeats &&= piece.startsWith(last);
      last = piece;
      pieces += 1;
      text += piece;
      values.add(piece);
    },
    isEmpty: () => text.trim() === '',
    isClosed: () => isWhole() || findRepeated() !== null || isPlaceholder(),
    isPlaceholder,
    acceptsBrace: () => values.isQuoted() || /[:,[]\s*$/.test(text.slice(-LOOK_BACK)),
    text() {
      if (isJson(text)) return text;
      return findRepeated() ?? findOnlyValue(values.all()) ?? text;
    },
  };
}

function isJson(text: string): boolean {
  if (isTooDeepText(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the one value that is left without placeholders and repetitions; null if there are several, or if one is not JSON. */
function findOnlyValue(values: readonly string[]): string | null {
  if (values.length < 2 || !values.every(isJson)) return null;
  const [first, ...others] = new Set(values.filter((value) => !PLACEHOLDERS.includes(value.replaceAll(/\s+/g, ''))));
  return others.length > 0 ? null : (first ?? values[0]!);
}

interface JsonValues {
  add(piece: string): void;
  isClosed(): boolean;
  isQuoted(): boolean;
  /** Returns the values, the last of which may be cut. */
  all(): string[];
}

/** Splits a text of several JSON values as it arrives, so that no character is read twice. */
function splitValues(): JsonValues {
  const values: string[] = [];
  let open = '';
  let [depth, quoted, escaped] = [0, false, false];
  /** Returns true if this character ends a value. */
  const take = (character: string): boolean => {
    if (quoted) {
      if (escaped) escaped = false;
      else if (character === '\\') escaped = true;
      else if (character === '"') quoted = false;
      return !quoted && depth === 0;
    }
    if (character === '"') quoted = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    return depth <= 0 && (character === '}' || character === ']');
  };
  return {
    add(piece) {
      let from = 0;
      const end = (to: number) => {
        const value = (open + piece.slice(from, to)).trim();
        if (value !== '') values.push(value);
        [open, from] = ['', to];
      };
      for (let at = 0; at < piece.length; at += 1) {
        const character = piece[at] as string;
        // A bare word, such as null, ends where an object begins.
        if (character === '{' && depth === 0 && !quoted) end(at);
        if (!take(character)) continue;
        depth = 0;
        end(at + 1);
      }
      open += piece.slice(from);
    },
    isClosed: () => values.length > 0 && open.trim() === '',
    isQuoted: () => quoted,
    all: () => (open.trim() === '' ? [...values] : [...values, open.trim()]),
  };
}
