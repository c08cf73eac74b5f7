import type { Definition, ModelPrices, PinnedProvider } from '../domain/definition.ts';
import { KNOWN_MODELS } from '../domain/known-models.ts';
import { findCatalogue } from '../domain/provider-presets.ts';
import { findPrice } from '../domain/usage.ts';

/** The provider's own price table; without one, the vendor's list prices if the provider is the vendor itself. */
export function getPrices({
  price_table,
  provider_type,
  base_url,
}: Pick<PinnedProvider, 'price_table' | 'provider_type' | 'base_url'>): ModelPrices {
  const catalogue = findCatalogue({ provider_type, base_url });
  if (catalogue === null || Object.keys(price_table).length > 0) return price_table;
  const known = KNOWN_MODELS.filter(([, { provider }]) => provider === catalogue);
  return Object.fromEntries(known.flatMap(([id, { price }]) => (price ? [[id, price]] : [])));
}

/** True if each of these models has a price; if a run has used none yet, the model that it will use. */
export function isPriced({ provider, model }: Pick<Definition, 'provider' | 'model'>, used: readonly (string | null)[]): boolean {
  const prices = provider ? getPrices(provider) : {};
  const asked = model ?? provider?.default_model ?? null;
  return (used.length > 0 ? used : [asked]).every((name) => findPrice([name, asked], prices) !== undefined);
}
