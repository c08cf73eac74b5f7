import Anthropic from '@anthropic-ai/sdk';
import { LRUCache } from 'lru-cache';
import type OpenAI from 'openai';
import type { Model } from '../contracts/models.ts';
import type { ModelPrices } from '../domain/definition.ts';
import { AppError, secretRefusal } from '../domain/errors.ts';
import { findKnownModel } from '../domain/known-models.ts';
import { findOutage } from '../domain/outages.ts';
import type { Redactor } from '../domain/redaction.ts';
import { toModelFailure } from './failures.ts';
import { listModels } from './listed-models.ts';
import { toVendorFailure } from './managed/failures.ts';

const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1_000;

interface Listing {
  /** Requests with an equal key share one list for ten minutes. */
  key: string;
  client: () => Promise<OpenAI | Anthropic>;
  provider_id?: string;
  prices?: ModelPrices;
  /** Keeps the sizes of context windows that the endpoint lists. */
  keepWindows?: (windows: { model: string; context_window: number }[]) => Promise<void>;
}

/** The sizes of a model's context window that are known, by what they are known from, the surest first. */
type KnownSizes = { [F in NonNullable<Model['context_window_from']>]?: number | null | undefined };

/** Returns the size that counts and what it is known from, as a model shows them. */
export function toModelWindow({ provider, endpoint, known }: KnownSizes): Pick<Model, 'context_window' | 'context_window_from'> {
  if (provider) return { context_window: provider, context_window_from: 'provider' };
  if (endpoint) return { context_window: endpoint, context_window_from: 'endpoint' };
  return known ? { context_window: known, context_window_from: 'known' } : {};
}

interface ListerOptions {
  now?: () => number;
  /** Redacts the secrets opened for the request: the list is cached longer than the request's scope lasts. */
  redact: () => Pick<Redactor, 'value' | 'error'>;
}

/** Fetches model lists from endpoints and caches them for a while. */
export function modelLister({ now = () => performance.now(), redact }: ListerOptions) {
  const cache = new LRUCache<string, { at: number; models: Model[] }>({ max: MOST_KEPT });
  const rejectRedacted = (error: unknown) => Promise.reject(redact().error(error));
  return async ({ key, client, provider_id, prices = {}, keepWindows = async () => {} }: Listing): Promise<Model[]> => {
    const entry = cache.get(key);
    if (entry && now() - entry.at < KEPT_MS) return entry.models;
    const asked = await askForModels(await openClient(client), { provider_id, prices }).catch(rejectRedacted);
    const models = redact().value(asked.models);
    await keepWindows(redact().value(asked.windows));
    cache.set(key, { at: now(), models });
    return models;
  };
}

/** A provider without a usable key or address counts as unreachable. */
async function openClient(client: Listing['client']): Promise<OpenAI | Anthropic> {
  try {
    return await client();
  } catch (error) {
    if (error instanceof AppError || findOutage(error)) throw error;
    throw new AppError('upstream', (error as Error).message, { code: secretRefusal(error) ?? 'models_unavailable' });
  }
}

async function askForModels(
  client: OpenAI | Anthropic,
  { provider_id, prices = {} }: { provider_id?: string | undefined; prices?: ModelPrices } = {},
): Promise<{ models: Model[]; windows: { model: string; context_window: number }[] }> {
  try {
    const models: Model[] = [];
    const listed = await listModels(client);
    for (const { id, name = id, context_window } of listed) {
      const price = prices[id] ?? prices['*'];
      models.push({
        id,
        name,
        ...(provider_id ? { provider_id } : {}),
        ...toModelWindow({ endpoint: context_window, known: findKnownModel(id)?.context_window }),
        ...(price ? { price } : {}),
      });
    }
    const windows = listed.flatMap(({ id: model, context_window }) => (context_window ? [{ model, context_window }] : []));
    return { models, windows };
  } catch (error) {
    const failure = client instanceof Anthropic ? toVendorFailure(error) : toModelFailure(error);
    throw new AppError('upstream', (failure as Error).message, {
      code: 'models_unavailable',
    });
  }
}
