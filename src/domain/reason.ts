export function innermost(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause) inner = inner.cause;
  return inner;
}

/** What came from outside does not have the documented form. The message says what is wrong, and where. */
export class Misshapen extends TypeError {
  readonly code = 'MISSHAPEN';
}

const NATIVE = [TypeError, RangeError, ReferenceError];

/**
 * What an error says for people. An error of the language itself, without a code, comes from reading something of another form than was
 * expected: its own words are about our code.
 */
export function sentenceOfError(error: unknown): string {
  const { message = '', code, issues } = (error ?? {}) as { message?: string; code?: string; issues?: unknown };
  if (Array.isArray(issues)) return formatFirstIssue(issues);
  if (code === undefined && error instanceof SyntaxError) return 'it is not valid JSON';
  if (code === undefined && NATIVE.some((kind) => error instanceof kind)) return 'it does not have the documented form';
  // What OpenSSL says ends with a line break.
  return message.trim() || code || 'no connection';
}

/** The error itself if it speaks to people; otherwise one that says what could not be read, and why. */
export function readably(error: Error, what: string): Error {
  const inner = innermost(error) as Error;
  const said = sentenceOfError(inner);
  return said === inner.message?.trim() ? error : new Misshapen(`${what} cannot be read: ${said}`, { cause: error });
}

/** The first fault that zod has found. */
function formatFirstIssue([first]: unknown[]): string {
  const { path = [], message = '' } = Object(first) as { path?: PropertyKey[]; message?: string };
  const said = message.replace('received undefined', 'received nothing');
  return path.length > 0 ? `${path.map(String).join('.')}: ${said}` : said;
}

const LINE_CHARACTERS = 500;

/** What somebody else says, as a part of one line of a log. */
export const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, LINE_CHARACTERS);

/** What the innermost cause says: it names the host or the port, where the outer ones only say `fetch failed`. */
export const getReason = (error: unknown): string => sentenceOfError(innermost(error));

/** What an error says, and its reason where it keeps that for itself. */
export function textWithReason(error: Error): string {
  const reason = getReason(error);
  const said = error.cause ? error.message : sentenceOfError(error);
  return said.includes(reason) ? said : `${said}: ${reason}`;
}
