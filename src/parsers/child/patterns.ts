import { RE2JS, RE2JSSyntaxException } from 're2js';
import { memoize } from './memoize.ts';

/** A range of characters in a text; the end is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** Compiles a pattern with RE2, which matches in time linear in the text. Throws a sentence if the pattern is invalid. */
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
    // Skips empty matches, which would redact nothing.
    if (matcher.end() > matcher.start()) yield { start: matcher.start(), end: matcher.end() };
  }
}

const REDACTED = '[REDACTED]';

/** Returns the text with every span replaced; adjacent spans become one. */
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
