import type { ModelPrices, PinnedProvider } from '../domain/definition.ts';
import { KNOWN_MODELS } from '../domain/known-models.ts';

/** The provider's own price table; without one, the vendor's list prices if the provider is the vendor itself. */
export function pricesOf({
  price_table,
  provider_type,
  base_url,
}: Pick<PinnedProvider, 'price_table' | 'provider_type' | 'base_url'>): ModelPrices {
  if (base_url || Object.keys(price_table).length > 0) return price_table;
  const known = KNOWN_MODELS.filter(([, { provider }]) => provider === provider_type);
  return Object.fromEntries(known.flatMap(([id, { price }]) => (price ? [[id, price]] : [])));
}
