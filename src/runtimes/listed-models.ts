import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { ModelFailure } from '../domain/model-failure.ts';

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

/**
 * Parses one listed model. The standard defines only the id; some endpoints add more, each in its own format. Values of another
 * type are left out.
 */
function parseListedModel(entry: unknown): ListedModel[] {
  const { id, name, display_name, context_window, max_input_tokens } = Object(entry) as Record<string, unknown>;
  if (typeof id !== 'string' || id === '') return [];
  const label = [name, display_name].find((text) => typeof text === 'string' && text !== '') as string | undefined;
  const window = [context_window, max_input_tokens].find((size) => Number.isSafeInteger(size) && Number(size) > 0) as
    | number
    | undefined;
  return [{ id, ...(label && { name: label }), ...(window && { context_window: window }) }];
}
