import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { listModels } from '../../src/runtimes/listed-models.ts';

/** Entries of `/v1/models` as vendors document them, and the size that each names. */
const ENTRIES: [string, object, number | undefined][] = [
  ['OpenAI', { id: 'gpt-4.1', object: 'model', created: 1, owned_by: 'openai' }, undefined],
  ['vLLM and SGLang', { id: 'm', object: 'model', root: 'm', parent: null, max_model_len: 4_096 }, 4_096],
  ['llama.cpp', { id: 'm', meta: { vocab_type: 1, n_vocab: 128_256, n_ctx: 8_192, n_ctx_train: 131_072, n_embd: 4_096 } }, 8_192],
  ['llama.cpp, older', { id: 'm', meta: { vocab_type: 1, n_vocab: 128_256, n_ctx_train: 32_768, n_embd: 4_096 } }, 32_768],
  [
    'OpenRouter',
    { id: 'a/b', context_length: 200_000, top_provider: { context_length: 131_072, max_completion_tokens: 8_192 } },
    131_072,
  ],
  ['OpenRouter, without its provider', { id: 'a/b', context_length: 200_000, top_provider: { context_length: null } }, 200_000],
  ['Groq', { id: 'm', active: true, context_window: 131_072, max_completion_tokens: 32_768 }, 131_072],
  ['Mistral', { id: 'm', max_context_length: 32_768, capabilities: { completion_chat: true } }, 32_768],
  ['Together', { id: 'm', type: 'chat', context_length: 131_072, config: { stop: [] } }, 131_072],
  ['LM Studio', { id: 'm', max_context_length: 131_072, loaded_context_length: 4_096 }, 4_096],
  ['Anthropic', { id: 'claude', type: 'model', max_input_tokens: 200_000, max_tokens: 64_000 }, 200_000],
  ['Gemini', { id: 'models/gemini', inputTokenLimit: 1_048_576, outputTokenLimit: 8_192 }, 1_048_576],
  ['Copilot', { id: 'm', capabilities: { limits: { max_context_window_tokens: 128_000, max_output_tokens: 4_096 } } }, 128_000],
  ['GitHub Models', { id: 'm', limits: { max_input_tokens: 8_000, max_output_tokens: 4_000 } }, 8_000],
  ['DeepInfra', { id: 'm', metadata: { context_length: 131_072, max_tokens: 16_384 } }, 131_072],
  ['Novita', { id: 'm', context_size: 32_768 }, 32_768],
  ['Venice', { id: 'm', model_spec: { availableContextTokens: 65_536 } }, 65_536],
  ['LiteLLM', { id: 'm', model_info: { max_tokens: 4_096, max_input_tokens: 16_385 } }, 16_385],
  ['a size as text', { id: 'm', context_length: '8192' }, 8_192],
  ['zero, for an unknown size', { id: 'm', context_length: 0 }, undefined],
  ['an output limit alone', { id: 'm', max_tokens: 4_096 }, undefined],
];

it.each(ENTRIES)('the size that %s lists is read', async (_, entry, size) => {
  const fetch = async () => Response.json({ object: 'list', data: [entry] });
  const client = new OpenAI({ apiKey: 'key', baseURL: 'http://models.test/v1', maxRetries: 0, fetch });
  const [model] = await listModels(client);
  expect(model?.context_window).toBe(size);
});
