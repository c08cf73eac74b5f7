import { isFailedFinish } from '../domain/finish.ts';
import { ModelFailure } from '../domain/model-failure.ts';
import type { BodyEnd } from './answer-body.ts';
import type { ModelReply } from './runtime.ts';

interface ReplyFacts {
  /** How the body ended. */
  end: BodyEnd;
  /** The endpoint's own word for the end of the answer. */
  finish_word: string;
  /** True if nothing is missing although the answer does not say that it ended, such as a call with whole arguments. */
  is_whole: boolean;
  /** The remedy for an output limit. */
  advice: string;
}

/**
 * Returns the reply. Throws a ModelFailure for a body that ended without an answer. If an endpoint gives no reason for the end of its
 * answer, its end mark counts.
 */
export function usableReply(reply: ModelReply, { end, finish_word, is_whole, advice }: ReplyFacts): ModelReply {
  const createUnusableError = (message: string, code: string, recoverable = false) =>
    new ModelFailure(message, { code, recoverable, answer: reply });
  const silent = reply.calls.length === 0 && reply.text.trim() === '';
  const finish =
    reply.finish || (!silent && (end.by !== 'none' || is_whole) ? (reply.calls.length > 0 ? 'tool_calls' : 'stop') : '');
  if (!finish && silent && end.stray)
    throw createUnusableError(`The model's endpoint sent something that is no answer: ${end.stray}`, 'bad_model_response', true);
  if (!finish) {
    const reason = end.stray ? `: ${end.stray}` : '';
    throw createUnusableError(`The model broke off its answer${reason}`, 'model_stream_cut', true);
  }
  if (finish === 'bad_tool_call')
    throw createUnusableError(`The model wrote a tool call that its endpoint cannot read (${finish_word})`, 'model_error', true);
  if (isFailedFinish(finish))
    throw createUnusableError(`The model's endpoint gave up its answer (${finish_word})`, 'model_error', true);
  if (finish === 'content_filter')
    throw createUnusableError("The provider's content filter stopped the answer", 'content_filter');
  if (silent && finish === 'length')
    throw createUnusableError(`The model used up its output limit before it said anything; ${advice}`, 'model_length');
  if (silent) throw createUnusableError('The model gave an empty answer', 'empty_answer');
  return { ...reply, finish };
}
