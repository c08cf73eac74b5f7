import type Anthropic from '@anthropic-ai/sdk';
import { ModelFailure } from '../domain/model-failure.ts';
import { jsonText, tokenCount } from '../domain/normalise.ts';
import type { ExchangeUsage } from '../domain/usage.ts';
import { vendorFailureOf } from './managed/failures.ts';
import { type MessagesExtra, messagesRequest } from './messages-request.ts';
import type { ModelReply, ModelRuntime } from './runtime.ts';

const FINISHES: Record<string, string> = {
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
};

/** The caller enforces the deadlines of an exchange. */
const NO_TIMEOUT = 2 ** 31 - 1;

/** Anthropic's streamed Messages API. Each request sends the whole transcript, so there is no cursor. */
export function messagesRuntime({ client, default_model }: { client: Anthropic; default_model: string | null }): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model)
        throw new ModelFailure('No model is named by the workflow, the agent or the provider; set one of them', {
          code: 'no_model',
          recoverable: false,
        });
      try {
        const stream = client.messages.stream(messagesRequest(input, model), { signal, timeout: NO_TIMEOUT });
        stream.on('text', emit);
        return { reply: replyOf(await stream.finalMessage()), cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        throw vendorFailureOf(error);
      }
    },
  };
}

function replyOf({ content, stop_reason, usage, model }: Anthropic.Message): ModelReply {
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  const calls = content.flatMap((block) =>
    block.type === 'tool_use' ? [{ id: block.id, name: block.name, arguments: jsonText(block.input ?? {}) }] : [],
  );
  const finish = FINISHES[stop_reason ?? ''] ?? 'stop';
  const silent = text.trim() === '' && calls.length === 0;
  const answer = { model, usage: usageOf(usage) };
  if (silent && finish === 'length')
    throw new ModelFailure(
      'The model used up its output limit before it said anything; raise max_output_tokens or lower the reasoning effort',
      { code: 'model_length', recoverable: false, answer },
    );
  if (silent) throw new ModelFailure('The model gave an empty answer', { code: 'empty_answer', recoverable: false, answer });
  return { ...answer, text, calls, finish, extra: calls.length > 0 ? extraOf(content) : null };
}

/** Null without thinking: text and calls are on record. */
function extraOf(content: readonly Anthropic.ContentBlock[]): MessagesExtra | null {
  const blocks = content.flatMap((block): MessagesExtra['blocks'] => {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') return [block];
    return block.type === 'text' || block.type === 'tool_use' ? [{ type: block.type }] : [];
  });
  return blocks.some(({ type }) => type !== 'text' && type !== 'tool_use') ? { blocks } : null;
}

function usageOf(usage: Anthropic.Usage): ExchangeUsage {
  const cache_read = tokenCount(usage.cache_read_input_tokens);
  const cache_write = tokenCount(usage.cache_creation_input_tokens);
  const total_in = tokenCount(usage.input_tokens) + cache_read + cache_write;
  return { total_in, total_out: tokenCount(usage.output_tokens), cache_read, cache_write };
}
