import { normalCharge } from './normalise.ts';
import { shortened } from './outside.ts';
import { storable } from './transcript.ts';
import type { Answered } from './usage.ts';

interface FailureFacts {
  code: string;
  recoverable: boolean;
  retry_after_ms?: number | undefined;
  status?: number | undefined;
  answer?: Answered | undefined;
}

/** A failure of a provider, with its own message; `recoverable` failures are retried. */
export class ModelFailure extends Error {
  readonly code: string;
  readonly recoverable: boolean;
  /** The provider's requested pause before a retry, in milliseconds. */
  readonly retry_after_ms: number | undefined;
  /** Of the HTTP response, if the endpoint refused the request. */
  readonly status: number | undefined;
  /** Set if the provider reported what an answer cost that is refused here. */
  readonly answer: Answered | undefined;

  constructor(message: string, { code, recoverable, retry_after_ms, status, answer }: FailureFacts) {
    super(storable(shortened(message)));
    this.name = 'ModelFailure';
    this.code = code;
    this.recoverable = recoverable;
    this.retry_after_ms = retry_after_ms;
    this.status = status;
    this.answer = answer && normalCharge(answer);
  }
}
