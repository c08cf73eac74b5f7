import { RE2JS, RE2JSSyntaxException } from 're2js';
import { memoize } from './remembered.ts';

/** A stretch of a text, end exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** RE2 matches in time linear in the text, whatever the pattern. Throws a sentence when it is not one. */
export const compilePattern = memoize(200, (source: string): RE2JS => {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) throw new Error(`Not a pattern in RE2 syntax: ${error.message}`);
    throw error;
  }
});

export function* findMatches(pattern: RE2JS, text: string): Generator<Span> {
  const matcher = pattern.matcher(text);
  while (matcher.find()) {
    // An empty match redacts nothing.
    if (matcher.end() > matcher.start()) yield { start: matcher.start(), end: matcher.end() };
  }
}

const REDACTED = '[REDACTED]';

/** The text with every stretch replaced; stretches that touch become one. */
export function redactSpans(text: string, spans: readonly Span[]): string {
  let out = '';
  let at = 0;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    if (start > at || at === 0) out += text.slice(at, start) + REDACTED;
    at = end;
  }
  return out + text.slice(at);
}
