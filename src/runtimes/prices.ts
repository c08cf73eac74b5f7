import type { Definition, ModelPrice, ModelPrices, PinnedProvider } from '../domain/definition.ts';
import { getListPrices } from '../domain/known-models.ts';
import { findCatalogue } from '../domain/provider-presets.ts';
import { findPrice } from '../domain/usage.ts';

/** The parts of a provider that decide what its models cost. */
export type Priced = Pick<PinnedProvider, 'price_table' | 'provider_type' | 'base_url'>;

/** The provider's price table and, for models that are not in it, the vendor's list prices if the provider is the vendor itself. */
export function getPrices({ price_table, provider_type, base_url }: Priced): ModelPrices {
  const catalogue = findCatalogue({ provider_type, base_url });
  // `*` is a price for every model.
  if (catalogue === null || Object.hasOwn(price_table, '*')) return price_table;
  return { ...getListPrices(catalogue), ...price_table };
}

/** A price, and whether it is the provider's own or the vendor's in the catalogue. */
interface FoundPrice {
  price: ModelPrice;
  price_source: 'provider' | 'catalogue';
}

/** Returns what a model costs at a provider; null if nobody knows. Without a provider, the default runtime answers, which has no prices. */
export function findModelPrice(provider: Priced | null, model: string | null): FoundPrice | null {
  const price = provider && findPrice([model], getPrices(provider));
  if (!price) return null;
  return { price, price_source: findPrice([model], provider.price_table) ? 'provider' : 'catalogue' };
}

/** True if each of these models has a price; if a run has used none yet, the model that it will use. */
export function isPriced(
  { provider, model }: Pick<Definition, 'provider' | 'model'>,
  used_models: readonly (string | null)[],
): boolean {
  const prices = provider ? getPrices(provider) : {};
  const requested_model = model ?? provider?.default_model ?? null;
  return (used_models.length > 0 ? used_models : [requested_model]).every(
    (name) => findPrice([name, requested_model], prices) !== undefined,
  );
}
