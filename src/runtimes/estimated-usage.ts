import { transcriptSize } from '../domain/compaction.ts';
import { estimateTokens } from '../domain/context-window.ts';
import type { Answered } from '../domain/usage.ts';
import type { Exchange, ModelReply } from './runtime.ts';

/** What is known of the text of an answer. */
type Written = Pick<Partial<ModelReply>, 'text' | 'reasoning' | 'calls' | 'extra'>;

/**
 * Returns an answer whose usage is estimated where its endpoint reported none, so that budgets hold with every endpoint.
 * An answer that has an estimate is returned unchanged. `written`: the text of the answer, as far as it came.
 */
export function estimateMissing<A extends Answered>(answered: A, input: Exchange, written: Written): A {
  const { usage, estimated } = answered;
  if (estimated) return answered;
  const total_in = usage.total_in || countRequest(input);
  const total_out = usage.total_out || countWritten(written);
  if (total_in === usage.total_in && total_out === usage.total_out) return answered;
  return { ...answered, usage: { ...usage, total_in, total_out }, estimated: true };
}

/** Divides the usage of a reply whose endpoint reported only the total, as input, by an estimate of the output. */
export function divideTotal(reply: ModelReply): Pick<ModelReply, 'usage' | 'estimated'> {
  const { total_in: total, cache_read: read, cache_write: write } = reply.usage;
  const total_out = Math.min(total, countWritten(reply));
  const total_in = total - total_out;
  const cache_read = Math.min(read, total_in);
  return { usage: { total_in, total_out, cache_read, cache_write: Math.min(write, total_in - cache_read) }, estimated: true };
}

/** Estimates the tokens of a request. */
export function countRequest({ instructions, transcript, tools }: Exchange): number {
  const tool_tokens = tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0;
  return estimateTokens(instructions) + transcriptSize(transcript) + tool_tokens;
}

const countWritten = ({ text = '', reasoning = '', calls = [], extra }: Written): number =>
  estimateTokens(text) +
  calls.reduce((sum, { name, arguments: args }) => sum + estimateTokens(name) + estimateTokens(args), 0) +
  // The thinking is a part of what goes back, if there is any.
  (extra ? estimateTokens(JSON.stringify(extra)) : estimateTokens(reasoning));
