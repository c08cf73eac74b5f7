import { parseExact } from './exact-json.ts';

/**
 * Parses JSON that may have comments, trailing commas and a byte order mark, as people write configuration. Integers that a double
 * cannot hold are kept as they are written. Throws a SyntaxError if it is still not JSON.
 */
export function parseCommentedJson(text: string): unknown {
  return parseExact(blankComments(text.replace(/^\uFEFF/, '')));
}

/** Replaces comments and commas before a closing bracket with blanks, so that places in error messages stay right. */
function blankComments(text: string): string {
  const parts: string[] = [];
  /** The place of the last comma, if nothing but blanks and comments has followed. */
  let comma: number | null = null;
  for (let at = 0; at < text.length; at += parts.at(-1)!.length) {
    const part = text.slice(at, findPartEnd(text, at));
    if (part.startsWith('//') || part.startsWith('/*')) {
      parts.push(part.replaceAll(/[^\n\r]/g, ' '));
      continue;
    }
    if (comma !== null && (part === '}' || part === ']')) parts[comma] = ' ';
    if (part === ',') comma = parts.length;
    else if (part.trim() !== '') comma = null;
    parts.push(part);
  }
  return parts.join('');
}

/** Characters that begin a part by themselves. */
const SINGLE = ',}]';
const BEGINS = /["/,}\]]/g;

/** Returns the end of the text, comment, bracket, comma or anything else that begins at `at`. */
function findPartEnd(text: string, at: number): number {
  const first = text[at]!;
  if (first === '"') return findTextEnd(text, at);
  if (text.startsWith('//', at)) return findNext(/[\n\r]/g, text, at);
  if (text.startsWith('/*', at)) return findNext(/\*\//g, text, at + 2, 2);
  if (SINGLE.includes(first)) return at + 1;
  return findNext(BEGINS, text, at + 1);
}

function findTextEnd(text: string, at: number): number {
  for (let place = at + 1; place < text.length; place += 1) {
    if (text[place] === '\\') place += 1;
    else if (text[place] === '"') return place + 1;
  }
  return text.length;
}

/** Returns the place of the next match, or behind its `length` characters; without one, the end. */
function findNext(pattern: RegExp, text: string, from: number, length = 0): number {
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  return match ? match.index + length : text.length;
}
