/**
 * What came from outside is larger, longer or deeper than is taken. `code` is its word for machines. Never worth another attempt: it
 * was paid for, and would come again.
 */
export class OutsideRefused extends Error {
  override readonly name = 'OutsideRefused';
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}

/** The refusal at whatever depth of an error's causes, or null. */
export function findOutsideRefusal(error: unknown): OutsideRefused | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause) if (inner instanceof OutsideRefused) return inner;
  return null;
}

/** A failure as a sentence, with the word for machines of what was refused. */
export function outsideSentence(error: Error): string {
  const refused = findOutsideRefusal(error);
  return refused ? `${refused.code}: ${error.message}` : error.message;
}

/** Thrown by the counting fetch, which does not know its caller. */
export const ANSWER_TOO_LARGE = 'answer_too_large';

const SENTENCE_CHARACTERS = 2_000;

/** A sentence from outside, as far as it is kept in errors and events. */
export const truncate = (text: string, most = SENTENCE_CHARACTERS): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()} [cut here: ${text.length - most} more characters]`;

/** The texts among a value's fields; what comes from outside may be anything. */
export function pickTexts(value: unknown): Partial<Record<string, string>> {
  const fields = Object.entries(typeof value === 'object' && value !== null ? value : {});
  return Object.fromEntries(fields.filter(([, field]) => typeof field === 'string'));
}
