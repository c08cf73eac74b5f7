export function innermost(error: unknown): unknown {
  let inner = error;
  while (inner instanceof Error && inner.cause) inner = inner.cause;
  return inner;
}

/** Thrown if a value from outside does not have the documented form. The message names the fault and its place. */
export class Misshapen extends TypeError {
  readonly code = 'MISSHAPEN';
}

const NATIVE = [TypeError, RangeError, ReferenceError];

/**
 * Returns an error's message for people. An error of the language itself, without a code, results from reading a value of an
 * unexpected form: its own message is about our code.
 */
export function sentenceOfError(error: unknown): string {
  const { message = '', code, issues } = (error ?? {}) as { message?: string; code?: string; issues?: unknown };
  if (Array.isArray(issues)) return formatFirstIssue(issues);
  if (code === undefined && error instanceof SyntaxError) return 'it is not valid JSON';
  if (code === undefined && NATIVE.some((kind) => error instanceof kind)) return 'it does not have the documented form';
  // OpenSSL's messages end with a line break.
  return message.trim() || code || 'no connection';
}

/**
 * Returns the error itself if its message is meant for people; otherwise an error that names what could not be read, and the
 * reason.
 */
export function readably(error: Error, what: string): Error {
  const inner = innermost(error) as Error;
  const sentence = sentenceOfError(inner);
  return sentence === inner.message?.trim() ? error : new Misshapen(`${what} cannot be read: ${sentence}`, { cause: error });
}

/** Formats the first fault that zod has found. */
function formatFirstIssue([first]: unknown[]): string {
  const { path = [], message = '' } = Object(first) as { path?: PropertyKey[]; message?: string };
  const text = message.replace('received undefined', 'received nothing');
  return path.length > 0 ? `${path.map(String).join('.')}: ${text}` : text;
}

const LINE_CHARACTERS = 500;

/** Formats somebody else's message as a part of one line of a log. */
export const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, LINE_CHARACTERS);

/** Returns the message of the innermost cause: it names the host or the port, while the outer ones only have `fetch failed`. */
export const getReason = (error: unknown): string => sentenceOfError(innermost(error));

/** Returns an error's message, and its reason if the message lacks it. */
export function textWithReason(error: Error): string {
  const reason = getReason(error);
  const sentence = error.cause ? error.message : sentenceOfError(error);
  return sentence.includes(reason) ? sentence : `${sentence}: ${reason}`;
}
