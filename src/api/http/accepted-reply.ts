import type { Endpoint } from '../../contracts/endpoint.ts';

/** A reply with 202 in place of the operation's own: a value of its schema `accepts`. */
export class AcceptedReply {
  readonly value: object;
  constructor(value: object) {
    this.value = value;
  }
  static unwrap = (answer: unknown): unknown => (answer instanceof AcceptedReply ? answer.value : answer);
}

/** True for a value that is answered with 202, also if a repeated request gets it from the record. */
export const isAccepted = ({ accepts }: Pick<Endpoint, 'accepts'>, value: unknown): boolean =>
  accepts?.safeParse(value).success === true;
