import type { BudgetLimits } from './budget.ts';
import { type Definition, getAskedModel, type ModelPrices, type PinnedProvider } from './definition.ts';
import { isSameModel } from './model-names.ts';
import { findPrice } from './usage.ts';

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
  /** The models whose answers had no price. */
  unpriced_models?: readonly string[];
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
 * answered it. Null: the run has no such limit, or each model has a price by now.
 */
export function findUncountable(
  { budget, unpriced_models = [] }: LimitedRun,
  definition: Pick<Definition, 'provider' | 'model' | 'budget'>,
  prices: ModelPrices,
): UnpricedModel | null {
  if (!limitsDollars(budget ?? definition.budget)) return null;
  const model = findWithoutPrice(getAskedModel(definition), unpriced_models, prices);
  return model === undefined ? null : { model, provider: definition.provider?.name ?? null };
}

interface PriceSources {
  findModelPrice(provider: PinnedProvider | null, model: string | null): object | null;
  /** Returns a provider as it is now; null: it was deleted. */
  findProvider(id: string): Promise<PinnedProvider | null>;
}

/**
 * Returns the model that a run asks, or one that has answered it, if it has no price: neither by the provider as the run is pinned
 * to it, nor by the provider as it is now.
 */
export async function findUnpricedModel(
  definition: Pick<Definition, 'provider' | 'model'>,
  { findModelPrice, findProvider }: PriceSources,
  answered: readonly string[] = [],
): Promise<UnpricedModel | null> {
  const { provider } = definition;
  const asked = getAskedModel(definition);
  const lacksPrice = (at: PinnedProvider | null) => (name: string | null) =>
    !findModelPrice(at, name) && !(name !== null && asked !== null && isSameModel(name, asked) && findModelPrice(at, asked));
  const unpriced = [asked, ...answered].filter(lacksPrice(provider));
  const present = provider && unpriced.length > 0 ? await findProvider(provider.id) : null;
  const model = unpriced.find(lacksPrice(present));
  return model === undefined ? null : { model, provider: provider?.name ?? null };
}
