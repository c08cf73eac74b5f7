import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { ModelFailure } from '../domain/model-failure.ts';

/** The standard defines only the id; some endpoints add more, each in its own format. */
interface ListedModel {
  id: string;
  name?: string;
  display_name?: string;
  context_window?: number;
  max_input_tokens?: number | null;
}

export const MOST_MODELS = 5_000;
const LIST_MS = 60_000;

/** The models that an endpoint lists. It may have another page forever, so it is read up to a number and for a time. */
export async function listedModels(client: OpenAI | Anthropic, most_ms = LIST_MS): Promise<ListedModel[]> {
  const signal = AbortSignal.timeout(most_ms);
  const pages = client instanceof Anthropic ? client.models.list({}, { signal }) : client.models.list({ signal });
  const models: ListedModel[] = [];
  try {
    for await (const model of pages as AsyncIterable<ListedModel>) if (models.push(model) === MOST_MODELS) break;
  } catch (error) {
    if (!signal.aborted) throw error;
    const message = `The endpoint did not list its models within ${most_ms / 1_000} s`;
    throw new ModelFailure(message, { code: 'model_timeout', recoverable: true });
  }
  return models;
}
