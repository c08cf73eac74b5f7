import Anthropic from '@anthropic-ai/sdk';
import { LRUCache } from 'lru-cache';
import type OpenAI from 'openai';
import type { Model } from '../contracts/models.ts';
import { AppError, secretRefusal } from '../domain/errors.ts';
import { findKnownModel } from '../domain/known-models.ts';
import { findOutage } from '../domain/outages.ts';
import { findCatalogue } from '../domain/provider-presets.ts';
import type { Redactor } from '../domain/redaction.ts';
import { toModelFailure } from './failures.ts';
import { listModels } from './listed-models.ts';
import { toVendorFailure } from './managed/failures.ts';
import { findModelPrice, type Priced } from './prices.ts';

const KEPT_MS = 10 * 60_000;
const MOST_KEPT = 1_000;

interface Listing {
  /** Requests with an equal key share one list for ten minutes. */
  key: string;
  client: () => Promise<OpenAI | Anthropic>;
  /** Null: the default runtime. */
  provider: (Priced & { id: string }) | null;
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

/** A model as its endpoint lists it, with the size of its context window if the endpoint names it. */
type ListedModel = Awaited<ReturnType<typeof listModels>>[number];

/** Fetches model lists from endpoints and caches them for a while. What is known about the models is added to each reply. */
export function modelLister({ now = () => performance.now(), redact }: ListerOptions) {
  const cache = new LRUCache<string, { at: number; listed: ListedModel[] }>({ max: MOST_KEPT });
  const rejectRedacted = (error: unknown) => Promise.reject(redact().error(error));
  const fetchList = async ({ key, client, keepWindows = async () => {} }: Listing): Promise<ListedModel[]> => {
    const entry = cache.get(key);
    if (entry && now() - entry.at < KEPT_MS) return entry.listed;
    const listed = redact().value(await askForModels(await openClient(client)).catch(rejectRedacted));
    await keepWindows(listed.flatMap(({ id: model, context_window }) => (context_window ? [{ model, context_window }] : [])));
    cache.set(key, { at: now(), listed });
    return listed;
  };
  return async (listing: Listing): Promise<Model[]> =>
    (await fetchList(listing)).map((listed) => toModel(listed, listing.provider));
}

function toModel({ id, name = id, context_window }: ListedModel, provider: Listing['provider']): Model {
  const known = findKnownModel(id, provider && findCatalogue(provider));
  const found = findModelPrice(provider, id);
  return {
    id,
    name,
    ...(provider ? { provider_id: provider.id } : {}),
    ...toModelWindow({ endpoint: context_window, known: known?.context_window }),
    vendor: known?.vendor ?? null,
    max_output: known?.max_output ?? null,
    reasoning_efforts: known?.efforts ? [...known.efforts] : null,
    modalities: known ? { input: [...known.modalities.input], output: [...known.modalities.output] } : null,
    tools: known?.tools ?? null,
    structured_output: known?.structured_output ?? null,
    deprecated_on: known?.deprecated_on ?? null,
    ends_on: known?.ends_on ?? null,
    successor: known?.successor ?? null,
    source: known?.source ?? null,
    as_of: known?.as_of ?? null,
    ...(found ? { price: found.price } : {}),
    priced: found !== null,
    price_source: found?.price_source ?? null,
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

async function askForModels(client: OpenAI | Anthropic): Promise<ListedModel[]> {
  try {
    return await listModels(client);
  } catch (error) {
    const failure = client instanceof Anthropic ? toVendorFailure(error) : toModelFailure(error);
    throw new AppError('upstream', (failure as Error).message, {
      code: 'models_unavailable',
    });
  }
}
