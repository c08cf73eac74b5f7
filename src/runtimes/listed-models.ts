import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { ModelFailure } from '../domain/model-failure.ts';
import { isWindow } from './vendor-words.ts';

interface ListedModel {
  id: string;
  name?: string;
  context_window?: number;
}

export const MOST_MODELS = 5_000;
const LIST_MS = 60_000;

/** Lists the models of an endpoint. An endpoint may return further pages forever, so their number and the time are limited. */
export async function listModels(client: OpenAI | Anthropic, most_ms = LIST_MS): Promise<ListedModel[]> {
  const signal = AbortSignal.timeout(most_ms);
  const pages = client instanceof Anthropic ? client.models.list({}, { signal }) : client.models.list({ signal });
  const models: ListedModel[] = [];
  let read = 0;
  try {
    for await (const entry of pages as AsyncIterable<unknown>) {
      models.push(...parseListedModel(entry));
      read += 1;
      if (read === MOST_MODELS) break;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `The endpoint did not list its models within ${most_ms / 1_000} s`;
    throw new ModelFailure(message, { code: 'model_timeout', recoverable: true });
  }
  return models;
}

type Json = Record<string, unknown>;

/** The fields that hold the size of the window, the surest first: what is loaded, what is served, what the model was trained for. */
const WINDOW_FIELDS = [
  ...[
    'loaded_context_length',
    'n_ctx',
    'max_model_len',
    'context_window',
    'max_input_tokens',
    'context_length',
    'inputTokenLimit',
  ],
  ...[
    'max_context_length',
    'max_context_window_tokens',
    'max_prompt_tokens',
    'max_context_tokens',
    'context_size',
    'contextLength',
  ],
  ...[
    'context_window_tokens',
    'availableContextTokens',
    'max_sequence_length',
    'max_seq_len',
    'input_token_limit',
    'n_ctx_train',
  ],
];
/** The objects within an entry that hold such a field. */
const WINDOW_PLACES = [
  ...[
    'top_provider',
    'meta',
    'limits',
    'capabilities',
    'metadata',
    'model_info',
    'model_spec',
    'architecture',
    'config',
    'status',
  ],
];

/**
 * Returns the size of the context window that a listed model has. Each vendor names it in its own place, some as text; of several
 * within one object the surest counts, and the provider that serves a model counts before the model.
 */
function findListedWindow(entry: Json): number | undefined {
  const inner = WINDOW_PLACES.map((place) => entry[place]);
  const deeper = inner.map((value) => (Object(value) as Json).limits);
  const places = [entry.top_provider, entry, ...inner, ...deeper].map((value) => Object(value) as Json);
  const sizes = places.flatMap((place) => WINDOW_FIELDS.map((field) => place[field]));
  return sizes.map((size) => (typeof size === 'string' ? Number(size) : size)).find(isWindow);
}

/**
 * Parses one listed model. The standard defines only the id; some endpoints add more, each in its own format. Values of another
 * type are left out.
 */
function parseListedModel(entry: unknown): ListedModel[] {
  const model = Object(entry) as Json;
  const { id, name, display_name } = model;
  if (typeof id !== 'string' || id === '') return [];
  const label = [name, display_name].find((text) => typeof text === 'string' && text !== '') as string | undefined;
  const window = findListedWindow(model);
  return [{ id, ...(label && { name: label }), ...(window && { context_window: window }) }];
}
