import type Anthropic from '@anthropic-ai/sdk';
import { tokenCount } from '../domain/normalise.ts';
import type { TranscriptMessage } from '../domain/transcript.ts';
import type { ExchangeUsage } from '../domain/usage.ts';
import { vendorFailureOf } from './managed/failures.ts';
import { type Exchange, ModelFailure, type ModelRuntime } from './runtime.ts';

const MOST_TOKENS = 8_192;
const FINISHES: Record<string, string> = { max_tokens: 'length', refusal: 'refusal' };

/** The vendor's streamed Messages API without tools, for chats: agent sessions are unsuitable for them. */
export function messagesRuntime({ client, default_model }: { client: Anthropic; default_model: string | null }): ModelRuntime {
  return {
    async exchange(input, emit, signal) {
      const model = input.model ?? default_model;
      if (!model)
        throw new ModelFailure('No model is named by the agent or the provider; set one of them', {
          code: 'no_model',
          recoverable: false,
        });
      try {
        const stream = client.messages.stream({ model, max_tokens: MOST_TOKENS, ...requestOf(input) }, { signal });
        stream.on('text', emit);
        const { content, stop_reason, usage, model: answered } = await stream.finalMessage();
        const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
        if (text.trim() === '')
          throw new ModelFailure('The model gave an empty answer', { code: 'empty_answer', recoverable: false });
        const finish = FINISHES[stop_reason ?? ''] ?? 'stop';
        return { reply: { text, calls: [], finish, model: answered, usage: usageOf(usage), extra: null }, cursor: null };
      } catch (error) {
        signal.throwIfAborted();
        throw vendorFailureOf(error);
      }
    },
  };
}

function requestOf({ instructions, transcript }: Exchange) {
  const said = transcript.filter(({ role, content }) => role !== 'tool' && content !== '');
  const messages = said.map(({ role, content }: TranscriptMessage) => ({
    role: role === 'assistant' ? ('assistant' as const) : ('user' as const),
    content,
  }));
  return { ...(instructions ? { system: instructions } : {}), messages };
}

function usageOf(usage: Anthropic.Usage): ExchangeUsage {
  const cache_read = tokenCount(usage.cache_read_input_tokens);
  const cache_write = tokenCount(usage.cache_creation_input_tokens);
  const total_in = tokenCount(usage.input_tokens) + cache_read + cache_write;
  return { total_in, total_out: tokenCount(usage.output_tokens), cache_read, cache_write };
}
