import { normalCharge } from './normalise.ts';
import { truncate } from './outside.ts';
import { storable } from './transcript.ts';
import type { Answered } from './usage.ts';

interface FailureFacts {
  code: string;
  recoverable: boolean;
  retry_after_ms?: number | undefined;
  status?: number | undefined;
  answer?: Answered | undefined;
  context_window?: number | undefined;
}

/** A failure of a provider, with its own message; `recoverable` failures are retried. */
export class ModelFailure extends Error {
  readonly code: string;
  readonly recoverable: boolean;
  /** The pause before a retry that the provider requested, in milliseconds. */
  readonly retry_after_ms: number | undefined;
  /** The status of the HTTP response, if the endpoint rejected the request. */
  readonly status: number | undefined;
  /** Set if the provider reported the cost of an answer that is rejected here. */
  readonly answer: Answered | undefined;

  /** The size of the model's context window in tokens, if the endpoint named it when it refused a longer request. */
  readonly context_window: number | undefined;

  constructor(message: string, { code, recoverable, retry_after_ms, status, answer, context_window }: FailureFacts) {
    super(storable(truncate(message)));
    this.name = 'ModelFailure';
    this.code = code;
    this.recoverable = recoverable;
    this.retry_after_ms = retry_after_ms;
    this.status = status;
    this.context_window = context_window;
    this.answer = answer && { ...normalCharge(answer), ...(answer.estimated ? { estimated: true } : {}) };
  }
}

interface ToollessReply extends Answered {
  text: string;
  calls: unknown[];
}

/**
 * Returns the reply to an exchange that offered no tools, without the calls that the model made anyway. Throws a ModelFailure if
 * nothing is left of it. `task`: what the model was asked to do instead, after "instead of".
 */
export function dropCalls<R extends ToollessReply>(reply: R, task: string): R {
  const silent = reply.calls.length > 0 && reply.text.trim() === '';
  if (!silent) return { ...reply, calls: [] };
  const message = `The model called a tool, although none was offered, instead of ${task}`;
  throw new ModelFailure(message, { code: 'empty_answer', recoverable: false, answer: reply });
}
