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
  const catalogue_models = KNOWN_MODELS.filter(([, { provider }]) => provider === catalogue);
  return Object.fromEntries(catalogue_models.flatMap(([id, { price }]) => (price ? [[id, price]] : [])));
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
