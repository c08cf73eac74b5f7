import type { BudgetLimits } from './budget.ts';
import { type Definition, getAskedModel, isVendor, type ModelPrices, type PinnedProvider } from './definition.ts';
import { isSameModel } from './model-names.ts';
import { findPrice, parseUnpricedName } from './usage.ts';

/** A model that a run asks or that answered it, and the provider's name; null: the default runtime. */
export interface UnpricedModel {
  model: string | null;
  provider: string | null;
}

/** The code of what is refused, or waits, because a limit in dollars cannot hold: nobody knows what the model costs. */
export const UNPRICED_MODEL = 'unpriced_model';

/** The fields of the budget of a run. */
const RUN_LIMITS = { dollars: 'max_cost_usd', tokens: 'max_tokens' };

/** Returns the sentence about a limit in dollars over a model without a price, with the two ways out. `limits`: names of fields. */
export function describeUnpriced({ model, provider }: UnpricedModel, limits = RUN_LIMITS): string {
  const asked = model === null ? 'the default model' : `the model ${model}`;
  const place = provider === null ? 'the default runtime' : `the provider ${provider}`;
  const remedy =
    provider === null
      ? 'Give the agent a provider with a price in its `price_table`'
      : `Set ${model === null ? 'a price for `*`' : 'its price'} in the provider's \`price_table\``;
  return `No price is known for ${asked} of ${place}, so a limit in dollars cannot hold. ${remedy}, or limit tokens with \`${limits.tokens}\` instead of \`${limits.dollars}\``;
}

/** True if a budget limits dollars. */
export const limitsDollars = (budget: { max_cost_usd?: number | null | undefined } | null | undefined): boolean =>
  typeof budget?.max_cost_usd === 'number';

/** What decides whether a run may ask its model although it limits dollars. */
interface LimitedRun {
  /** Set if the budget of the run was changed. */
  budget: BudgetLimits | null;
  /** The models whose answers had no price, as a task keeps them. */
  unpriced_models?: readonly string[];
}

/** Another provider of a run, as it is now. */
export interface PresentProvider {
  name: string;
  prices: ModelPrices;
}

/**
 * Returns the model that is asked, or one that has answered in its place, if it has no price; null is the default model, undefined means
 * that each has one.
 */
export const findWithoutPrice = (
  asked: string | null,
  answered: readonly string[],
  prices: ModelPrices,
): string | null | undefined => [asked, ...answered].find((name) => findPrice([name, asked], prices) === undefined);

/**
 * Returns the model that makes it unknown what a run with a limit in dollars costs: the one that it asks, or one that has
 * answered it. Null: the run has no such limit, or each model has a price by now. `others`: the providers that answered without a
 * price, other than the one that is asked, by their ids; one that was deleted is missing.
 */
export function findUncountable(
  { budget, unpriced_models = [] }: LimitedRun,
  definition: Pick<Definition, 'provider' | 'model' | 'budget' | 'fallbacks'>,
  { prices, others = new Map() }: { prices: ModelPrices; others?: ReadonlyMap<string, PresentProvider> },
): UnpricedModel | null {
  if (!limitsDollars(budget ?? definition.budget)) return null;
  const asked = getAskedModel(definition);
  const provider = definition.provider?.name ?? null;
  const own = findWithoutPrice(asked, listUnpricedOf(unpriced_models, definition.provider?.id), prices);
  if (own !== undefined) return { model: own, provider };
  for (const { provider_id, model } of unpriced_models.map(parseUnpricedName)) {
    if (provider_id === null || provider_id === definition.provider?.id) continue;
    const other = others.get(provider_id);
    const names = [asked, ...(definition.fallbacks ?? []).map((one) => one.model)].filter(
      (name) => name && isSameModel(model, name),
    );
    if (!other || findPrice([model, ...names], other.prices) === undefined) return { model, provider: other?.name ?? DELETED };
  }
  return null;
}

/** Lists the models of a provider that have answered a run without a price. */
export const listUnpricedOf = (unpriced_models: readonly string[], provider_id: string | undefined): string[] =>
  unpriced_models
    .map(parseUnpricedName)
    .filter((named) => named.provider_id === null || named.provider_id === provider_id)
    .map(({ model }) => model);

const DELETED = 'that was deleted';

/** Lists the providers other than the one that is asked whose answers had no price. */
export const listOtherProviders = ({ unpriced_models = [] }: LimitedRun, asked_id: string | undefined): string[] =>
  [...new Set(unpriced_models.flatMap((entry) => parseUnpricedName(entry).provider_id ?? []))].filter((id) => id !== asked_id);

interface PriceSources {
  findModelPrice(provider: PinnedProvider | null, model: string | null): object | null;
  /** Returns a provider as it is now; null: it was deleted. */
  findProvider(id: string): Promise<PinnedProvider | null>;
}

/**
 * Returns the model that a run asks, may fall back to, or was answered by, if it has no price: neither by its provider as the run is
 * pinned to it, nor by the provider as it is now. Fallbacks that a run passes over need none.
 */
export async function findUnpricedModel(
  definition: Pick<Definition, 'provider' | 'model' | 'fallbacks'>,
  { findModelPrice, findProvider }: PriceSources,
  answered: readonly string[] = [],
): Promise<UnpricedModel | null> {
  const { provider, model: own_model, fallbacks = [] } = definition;
  const usable = fallbacks.filter(({ missing, provider: other }) => !missing && !(other && isVendor(other)));
  const asked = [{ model: own_model, provider }, ...usable.map((one) => ({ provider, ...one }))];
  const findPinned = (id: string | null) =>
    id === null ? provider : (asked.find((one) => one.provider?.id === id)?.provider ?? null);
  const named = answered.map(parseUnpricedName).map(({ provider_id, model }) => ({ model, provider: findPinned(provider_id) }));
  const all = [...asked.map((one) => ({ provider: one.provider, model: getAskedModel(one) })), ...named];
  const lacksPrice = (at: PinnedProvider | null, { model }: { model: string | null }) => {
    const names = asked
      .map((one) => getAskedModel(one))
      .filter((name) => name !== null && model !== null && isSameModel(model, name));
    return !findModelPrice(at, model) && !names.some((name) => findModelPrice(at, name));
  };
  for (const one of all) {
    if (!lacksPrice(one.provider, one)) continue;
    const present = one.provider && (await findProvider(one.provider.id));
    if (!present || lacksPrice(present, one)) return { model: one.model, provider: one.provider?.name ?? null };
  }
  return null;
}
