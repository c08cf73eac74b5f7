import { isTooDeepText, storableValue } from './normalise.ts';
import { splitThinking } from './thinking.ts';

/** Returns the JSON that a text is, in a fence or not; null if it is anything else. */
export function findWholeJson(text: string): string | null {
  const whole = withoutMark(text).trim();
  if (isJson(whole)) return whole;
  const fence = FENCES.find((one) => whole.startsWith(one) && whole.endsWith(one) && whole.length >= 2 * one.length);
  const content = fence ? whole.slice(fence.length, -fence.length) : '';
  return [content, withoutLanguage(content)].find(isJson)?.trim() ?? null;
}

/**
 * Returns the JSON in a text that should be JSON: the whole of it, or the only object or list in its fences and its prose, which may be
 * repeated. Thinking before it does not count. Returns the text unchanged if there is none, or if there are different ones.
 */
export function findJsonText(text: string): string {
  const whole = findWholeJson(text);
  if (whole !== null) return whole;
  const answer = withoutMark(splitThinking(text).text).trim();
  if (isJson(answer)) return answer;
  const { fenced, prose } = splitFences(answer);
  const found = [...fenced.flatMap(listFenced), ...prose.flatMap(listJson)];
  // Fences within the texts of the answer divide it wrongly.
  const values = found.length > 0 ? found : listJson(answer);
  const [only, ...others] = values.length > 0 || fenced.length !== 1 ? values : listScalars(fenced);
  return only !== undefined && others.length < MOST_REPEATED && others.every((other) => isSame(only, other)) ? only : text;
}

/** How often an answer may be repeated. */
const MOST_REPEATED = 16;

const listJson = (text: string): string[] => listValues(text).filter(isJson);
const listScalars = (contents: string[]): string[] => contents.flatMap((one) => [one, withoutLanguage(one)].filter(isJson));
const isSame = (one: string, other: string) => JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));

/**
 * Parses the final answer: a JSON value for `json` (other text is wrapped), the text itself for `markdown`. Parsing brings back
 * characters that JSON escapes and the database cannot hold.
 */
export function parseResponse(text: string, output_format: string): unknown {
  if (output_format !== 'json') return text;
  try {
    return storableValue(JSON.parse(findJsonText(text)), 'model_answer_too_large');
  } catch {
    return { response: text };
  }
}

const BYTE_ORDER_MARK = '\uFEFF';
const withoutMark = (text: string) => (text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);

function isJson(text: string): boolean {
  if (text.trim() === '' || isTooDeepText(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const FENCES = ['```', '~~~'];

/** Splits a text into the contents of its fences and what stands outside of them. */
function splitFences(text: string): { fenced: string[]; prose: string[] } {
  const fence = FENCES.find((one) => text.includes(one));
  const parts = fence ? text.split(fence) : [text];
  // A fence that never ends is prose.
  const isFenced = (at: number) => at % 2 === 1 && at < parts.length - 1;
  return { fenced: parts.filter((_, at) => isFenced(at)), prose: parts.filter((_, at) => !isFenced(at)) };
}

/** Returns the object or list that a fence holds, with or without the name of a language, on separate lines or not. */
function listFenced(content: string): string[] {
  const whole = [content, withoutLanguage(content)].find((part) => /^\s*[[{]/.test(part) && isJson(part));
  return whole === undefined ? [] : [whole.trim()];
}

const withoutLanguage = (content: string) => content.trimStart().replace(/^[A-Za-z][\w+.-]{0,20}/, '');

/** The number of brackets that never close, after which a text is prose. */
const MOST_UNCLOSED = 16;

/**
 * Returns the objects and lists in a text that are not part of anything else in brackets; none if one is cut, as a part of it is not the
 * answer. A list must have its lines for itself: `[1]` may be a note.
 */
function listValues(text: string): string[] {
  const values: string[] = [];
  let unclosed = 0;
  for (let start = findStart(text, 0); start >= 0; ) {
    const end = findEnd(text, start);
    if (end < 0) {
      unclosed += 1;
      if (unclosed > MOST_UNCLOSED || CUT_VALUE.test(text.slice(start, start + HEAD_CHARACTERS))) return [];
      start = findStart(text, start + 1);
      continue;
    }
    const value = text.slice(start, end);
    if (value[0] === '{' ? OBJECT.test(value.slice(0, HEAD_CHARACTERS)) : hasOwnLines(text, start, end)) values.push(value);
    start = findStart(text, end);
  }
  return values;
}

const HEAD_CHARACTERS = 100;
const OBJECT = /^\{\s*"/;
const CUT_VALUE = /^(?:\{\s*["']|\[\s*[{["'])/;

function findStart(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (text[at] === '{' || text[at] === '[') return at;
  return -1;
}

/** Returns the place after the bracket that closes the one at `start`; -1 if none does. */
function findEnd(text: string, start: number): number {
  let [depth, quoted] = [0, false];
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character === '\\') at += 1;
      else if (character === '"') quoted = false;
    } else if (character === '"') quoted = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** True if only blanks stand before and after a part of a text, on its lines. */
function hasOwnLines(text: string, start: number, end: number): boolean {
  let [before, after] = [start - 1, end];
  while (isBlank(text[before])) before -= 1;
  while (isBlank(text[after])) after += 1;
  return [text[before], text[after]].every((character) => character === undefined || character === '\n');
}

const isBlank = (character: string | undefined) => character === ' ' || character === '\t' || character === '\r';
