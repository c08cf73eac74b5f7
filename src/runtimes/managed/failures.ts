import { APIConnectionError, APIConnectionTimeoutError, APIError } from '@anthropic-ai/sdk';
import { ModelFailure } from '../../domain/model-failure.ts';
import { getReason } from '../../domain/reason.ts';
import { ADVICE, findRefusedFailure, isRecoverable, parseRetryAfter } from '../failures.ts';

const CODES: Record<number, string> = {
  401: 'model_unauthorized',
  403: 'model_unauthorized',
  404: 'unknown_model',
  429: 'rate_limited',
};

/** Turns an error of the vendor's client into a ModelFailure with its message. */
export function toVendorFailure(error: unknown): unknown {
  const failure = findRefusedFailure(error);
  if (failure) return failure;
  if (error instanceof APIConnectionTimeoutError)
    return new ModelFailure('The provider did not answer in time', { code: 'model_timeout', recoverable: true });
  if (error instanceof APIConnectionError)
    return new ModelFailure(`The provider cannot be reached: ${getReason(error)}`, {
      code: 'model_unreachable',
      recoverable: true,
    });
  if (error instanceof APIError) {
    const { status, message, headers } = error as APIError;
    const code = message.includes('prompt is too long') ? 'context_window_full' : (CODES[status ?? 0] ?? 'model_error');
    const advice = ADVICE[code] ? `; ${ADVICE[code]}` : '';
    return new ModelFailure(`The provider answered: ${message}${advice}`, {
      code,
      recoverable: isRecoverable(status),
      retry_after_ms: parseRetryAfter(headers),
      status,
    });
  }
  if (error instanceof SyntaxError || error instanceof TypeError)
    return new ModelFailure('The stream of the session broke off', { code: 'model_stream_cut', recoverable: true });
  return error;
}
