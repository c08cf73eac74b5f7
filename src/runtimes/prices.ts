import type { ModelPrice, ModelPrices, PinnedProvider } from '../domain/definition.ts';
import { getListPrices } from '../domain/known-models.ts';
import { findCatalogue } from '../domain/provider-presets.ts';
import { findPrice } from '../domain/usage.ts';

/** The parts of a provider that decide what its models cost. */
export type Priced = Pick<PinnedProvider, 'price_table' | 'provider_type' | 'base_url'> &
  Partial<Pick<PinnedProvider, 'azure_deployment'>>;

/** The price of a model, and what it is known from: the provider's own table, or the catalogue of the vendors' list prices. */
interface KnownPrice {
  price: ModelPrice;
  price_source: 'provider' | 'catalogue';
}

/**
 * Returns what the models of a provider cost: the provider's own table, and for what it does not name the vendor's list prices,
 * if the provider is the vendor itself.
 */
export function getPrices({ price_table, azure_deployment = null, ...endpoint }: Priced): ModelPrices {
  // `*` is a price for every model.
  if (Object.hasOwn(price_table, '*')) return price_table;
  // One deployment answers every request, under the name of the model that it has.
  const deployed = azure_deployment === null ? undefined : price_table[azure_deployment];
  const own_prices = deployed ? { ...price_table, '*': deployed } : price_table;
  const catalogue = findCatalogue(endpoint);
  return catalogue === null ? own_prices : { ...getListPrices(catalogue), ...own_prices };
}

/** Finds what a model costs at a provider; null: unknown. The default runtime has no prices. */
export function findModelPrice(provider: Priced | null, model: string | null): KnownPrice | null {
  if (!provider) return null;
  const price = findPrice([model], getPrices(provider));
  if (!price) return null;
  return { price, price_source: Object.values(provider.price_table).includes(price) ? 'provider' : 'catalogue' };
}
