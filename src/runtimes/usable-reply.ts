import { ModelFailure } from '../domain/model-failure.ts';
import type { ModelReply } from './runtime.ts';

/**
 * Returns the reply. Throws a ModelFailure for a stream that ended without an answer. `advice`: the remedy for an output limit.
 */
export function usableReply(reply: ModelReply, advice: string): ModelReply {
  const createUnusableError = (message: string, code: string, recoverable = false) =>
    new ModelFailure(message, { code, recoverable, answer: reply });
  const silent = reply.calls.length === 0 && reply.text.trim() === '';
  if (!reply.finish) throw createUnusableError('The model broke off its answer', 'model_stream_cut', true);
  if (reply.finish === 'content_filter')
    throw createUnusableError("The provider's content filter stopped the answer", 'content_filter');
  if (silent && reply.finish === 'length')
    throw createUnusableError(`The model used up its output limit before it said anything; ${advice}`, 'model_length');
  if (silent) throw createUnusableError('The model gave an empty answer', 'empty_answer');
  return reply;
}
