import { transcriptSize } from '../domain/compaction.ts';
import { estimateTokens } from '../domain/context-window.ts';
import type { Answered } from '../domain/usage.ts';
import type { Exchange, ModelReply } from './runtime.ts';

/** What is known of the text of an answer. */
type Written = Pick<Partial<ModelReply>, 'text' | 'calls' | 'extra'>;

/**
 * Returns an answer whose usage is estimated where its endpoint reported none, so that budgets hold with every endpoint.
 * `written`: the text of the answer, as far as it came.
 */
export function estimateMissing<A extends Answered>(answered: A, input: Exchange, written: Written): A {
  const { usage } = answered;
  const total_in = usage.total_in || countRequest(input);
  const total_out = usage.total_out || countWritten(written);
  if (total_in === usage.total_in && total_out === usage.total_out) return answered;
  return { ...answered, usage: { ...usage, total_in, total_out }, estimated: true };
}

function countRequest({ instructions, transcript, tools }: Exchange): number {
  const tool_tokens = tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0;
  return estimateTokens(instructions) + transcriptSize(transcript) + tool_tokens;
}

const countWritten = ({ text = '', calls = [], extra }: Written): number =>
  estimateTokens(text) +
  calls.reduce((sum, { name, arguments: args }) => sum + estimateTokens(name) + estimateTokens(args), 0) +
  (extra ? estimateTokens(JSON.stringify(extra)) : 0);
