/**
 * A value from outside is larger, longer or deeper than is accepted. `code` is meant for machines. It is never worth another
 * attempt: that would cost again and bring the same value.
 */
export class OutsideRefused extends Error {
  override readonly name = 'OutsideRefused';
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** Returns the refusal at any depth of an error's causes, or null. */
export function findOutsideRefusal(error: unknown): OutsideRefused | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) if (inner instanceof OutsideRefused) return inner;
  return null;
}

/** Formats a failure as a sentence, with the code of what was refused. */
export function outsideSentence(error: Error): string {
  const refusal = findOutsideRefusal(error);
  return refusal ? `${refusal.code}: ${error.message}` : error.message;
}

/** The code thrown by the counting fetch, which does not know its caller. */
export const ANSWER_TOO_LARGE = 'answer_too_large';

const SENTENCE_CHARACTERS = 2_000;

/** Truncates a sentence from outside to the length that errors and events keep. */
export const truncate = (text: string, most = SENTENCE_CHARACTERS): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()} [cut here: ${text.length - most} more characters]`;

/** Returns the fields of a value that are texts; a value from outside may be anything. */
export function pickTexts(value: unknown): Partial<Record<string, string>> {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : {});
  return Object.fromEntries(fields.filter(([, field]) => typeof field === 'string'));
}
