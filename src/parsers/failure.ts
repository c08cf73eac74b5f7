/**
 * `refused`: the job threw a sentence · `timeout`, `memory`: it exceeded its limit · `busy`: it never started · `ended`: the
 * pool was closed.
 */
type FailureKind = 'refused' | 'timeout' | 'memory' | 'busy' | 'ended';

/** How long a request waits for a parser process before its job fails as `busy`. */
export const PATIENCE_MS = 20_000;

/** The reason why a parser job has no result, as the rest of a sentence such as `it took longer than 5 s`. */
export class ParserFailure extends Error {
  override readonly name = 'ParserFailure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}
