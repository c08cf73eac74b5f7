import { APIConnectionError, APIConnectionTimeoutError, APIError, OpenAIError } from 'openai';
import { ModelFailure } from '../domain/model-failure.ts';
import { ANSWER_TOO_LARGE, findOutsideRefusal } from '../domain/outside.ts';
import { getReason, innermost, sentenceOfError } from '../domain/reason.ts';
import type { Answered } from '../domain/usage.ts';

const TOO_MANY = 429;
const RECOVERABLE = [408, 409, TOO_MANY];
const SERVER_ERRORS = 500;

/**
 * True if a provider that answered with this status may be asked again. An error within a stream has no status: the request itself
 * was accepted. How often it is asked again: src/temporal/activities/retries.ts.
 */
export const isRecoverable = (status: number | undefined): boolean =>
  status === undefined || RECOVERABLE.includes(status) || status >= SERVER_ERRORS;

/** Node's messages for a connection that ended within a body. */
const CUT = /terminated|other side closed|ECONNRESET|UND_ERR_SOCKET|Premature close/;

/** Turns an error of a provider's client into a ModelFailure with the provider's message. A ModelFailure passes unchanged. `expected`: what was asked for; `advice`: by code. */
export function toModelFailure(error: unknown, expected = 'a chat completion', advice = ADVICE): unknown {
  const failure = findRefusedFailure(error);
  if (failure) return failure;
  if (error instanceof APIConnectionTimeoutError)
    return new ModelFailure('The model did not answer in time', { code: 'model_timeout', recoverable: true });
  if (error instanceof APIConnectionError) {
    if (isDenied(error)) return new ModelFailure(getReason(error), { code: 'egress_denied', recoverable: false });
    return new ModelFailure(`The model's endpoint cannot be reached: ${getReason(error)}`, {
      code: 'model_unreachable',
      recoverable: true,
    });
  }
  if (error instanceof APIError) return modelRefusal(error, advice);
  if (error instanceof TypeError && CUT.test(`${error.message} ${getReason(error)}`))
    return new ModelFailure('The model broke off its answer', { code: 'model_stream_cut', recoverable: true });
  if (MALFORMED.some((kind) => error instanceof kind)) {
    const message = `The model's endpoint sent something that is not ${expected}: ${sentenceOfError(error)}`;
    // A line that is not valid JSON may have been cut in transit; a wrong shape would be repeated.
    return new ModelFailure(message, { code: 'bad_model_response', recoverable: error instanceof SyntaxError });
  }
  return error;
}

export const noModel = () =>
  new ModelFailure('No model is named by the workflow, the agent or the provider; set one of them', {
    code: 'no_model',
    recoverable: false,
  });

const MALFORMED = [SyntaxError, TypeError, RangeError, OpenAIError];

/** Returns an earlier failure unchanged, or a failure for the refused part of an `answer`; null for any other error. */
export function findRefusedFailure(error: unknown, answer?: Answered): ModelFailure | null {
  if (error instanceof ModelFailure) return error;
  const refusal = findOutsideRefusal(error);
  if (!refusal) return null;
  if (refusal.code !== ANSWER_TOO_LARGE)
    return new ModelFailure(refusal.message, { code: refusal.code, recoverable: false, answer });
  return new ModelFailure(`The model's endpoint sent too much: ${refusal.message}`, {
    code: 'model_answer_too_large',
    recoverable: false,
    answer,
  });
}

function modelRefusal({ status, message, headers, code: vendor_code }: APIError, advice: typeof ADVICE): ModelFailure {
  const code =
    status === 401 || status === 403
      ? 'model_unauthorized'
      : status === 404
        ? 'unknown_model'
        : status === TOO_MANY
          ? 'rate_limited'
          : vendor_code === 'context_length_exceeded'
            ? 'context_window_full'
            : 'model_error';
  return new ModelFailure(`The model's endpoint answered: ${message}${advice[code] ? `; ${advice[code]}` : ''}`, {
    code,
    recoverable: isRecoverable(status),
    retry_after_ms: parseRetryAfter(headers),
    status,
  });
}

export const ADVICE: Record<string, string> = {
  model_unauthorized: "check the provider's stored key",
  unknown_model: 'check base_url and the name of the model or deployment',
};

/**
 * Returns Retry-After in milliseconds: seconds or a date, or the finer header that some providers add. Undefined unless it is
 * later than now.
 */
export function parseRetryAfter(headers: Headers | undefined): number | undefined {
  const fine = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (fine > 0) return fine;
  const text = headers?.get('retry-after');
  if (!text) return undefined;
  const wait = Number.isNaN(Number(text)) ? Date.parse(text) - Date.now() : Number(text) * 1000;
  return wait > 0 ? wait : undefined;
}

/** True if the guarded fetch refused to connect; a retry would be refused too. */
const isDenied = (error: Error) => (innermost(error) as { code?: string }).code === 'EGRESS_DENIED';
