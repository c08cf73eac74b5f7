import { type Definition, getAskedModel, type ModelPrice, type ModelPrices } from './definition.ts';
import { isSameModel } from './model-names.ts';

/** The token usage of one exchange; `total_in` includes what was read from the provider's cache. */
export interface ExchangeUsage {
  total_in: number;
  total_out: number;
  cache_read: number;
  cache_write: number;
}

export const NO_EXCHANGE_USAGE: ExchangeUsage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };

/** Returns the usage of several answers of one exchange. */
export const addExchangeUsage = (one: ExchangeUsage, more: ExchangeUsage): ExchangeUsage => ({
  total_in: one.total_in + more.total_in,
  total_out: one.total_out + more.total_out,
  cache_read: one.cache_read + more.cache_read,
  cache_write: one.cache_write + more.cache_write,
});

/** The model that answered, by its own name, and the usage of the answer. */
export interface Answered {
  model: string | null;
  usage: ExchangeUsage;
  /** True if the endpoint did not report a part of the usage, which is estimated; absent: false. */
  estimated?: boolean;
}

export interface Usage extends ExchangeUsage {
  /** The cost in US dollars of what has a price. */
  cost: number;
  /** The models whose answers have no price: their cost is unknown; absent: none. */
  unpriced_models?: string[];
  premium_requests: number;
  /** True if a part was not reported by an endpoint, but estimated; absent: false. */
  estimated?: boolean;
}

/** The most tokens of a kind that a run counts; its cost has no such limit. */
export const MOST_COUNTED = 2_147_483_647;

/** Returns the tokens that a run has used of its budget. A count that has reached its maximum may stand for any number. */
export const sumTokens = ({ total_in, total_out }: Pick<Usage, 'total_in' | 'total_out'>): number =>
  Math.max(total_in, total_out) < MOST_COUNTED ? total_in + total_out : Number.POSITIVE_INFINITY;

export const NO_USAGE: Usage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0, cost: 0, premium_requests: 0 };

const PER_MILLION = 1_000_000;

/**
 * Finds the price of a model; `*` is the price of every model that the table does not name. Vendors report the full name of a
 * model (`gpt-4o-2024-08-06`), while people request, and enter the price of, its short name (`gpt-4o`): pass the reported name,
 * then the requested one. If another model answered than was requested, the requested one's price does not apply.
 */
export function findPrice(
  [reported = null, asked = null]: readonly (string | null)[],
  prices: ModelPrices,
): ModelPrice | undefined {
  const names = reported === null || asked === null || isSameModel(reported, asked) ? [reported, asked] : [reported];
  return prices[names.find((name) => name !== null && Object.hasOwn(prices, name)) ?? '*'];
}

/** Returns the US dollars for one exchange; 0 if the table has no price for the model. `names`: as for `findPrice`. */
export function calculateCost(usage: ExchangeUsage, names: readonly (string | null)[], prices: ModelPrices): number {
  const listed = findPrice(names, prices);
  if (!listed) return 0;
  const price = listed.above && usage.total_in > listed.above.tokens ? listed.above : listed;
  const uncached_tokens = Math.max(0, usage.total_in - usage.cache_read - usage.cache_write);
  const dollars =
    uncached_tokens * price.input +
    usage.cache_read * (price.cache_read ?? price.input) +
    usage.cache_write * (price.cache_write ?? price.input) +
    usage.total_out * price.output;
  // A table that bypassed the checks may hold anything; the sum must stay a number.
  return Number.isFinite(dollars) && dollars > 0 ? dollars / PER_MILLION : 0;
}

/** The name of a model that neither the run nor the endpoint names. */
const UNNAMED = 'default model';

/** What an answer is priced by: the model that was asked for, and its provider; absent: the run's own, or none. */
interface Pricing {
  asked: string | null;
  prices: ModelPrices;
  provider_id?: string | undefined;
}

/** Returns what answers of a run's model are priced by. */
export const toPricing = (definition: Pick<Definition, 'provider' | 'model'>, prices: ModelPrices): Pricing => ({
  asked: getAskedModel(definition),
  prices,
  provider_id: definition.provider?.id,
});

/** Names a model as `unpriced_models` does. Without a provider it is one of the run's own provider. */
const toUnpricedName = (model: string, provider_id: string | undefined): string =>
  provider_id === undefined ? model : `${provider_id} ${model}`;

/** Returns the model and the provider that an entry of `unpriced_models` names; null: the run's own provider. */
export function parseUnpricedName(entry: string): { provider_id: string | null; model: string } {
  const [, provider_id = null, model = entry] = /^([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}) ([\s\S]*)$/.exec(entry) ?? [];
  return { provider_id, model };
}

/** Returns the usage and cost of an answer. */
export const toUsage = ({ model, usage, estimated }: Answered, { asked, prices, provider_id }: Pricing): Usage => ({
  ...usage,
  cost: calculateCost(usage, [model, asked], prices),
  premium_requests: 0,
  ...(estimated ? { estimated } : {}),
  ...(usage.total_in + usage.total_out === 0 || findPrice([model, asked], prices)
    ? {}
    : { unpriced_models: [toUnpricedName(model ?? asked ?? UNNAMED, provider_id)] }),
});

/** The usage of an exchange so far, and what the model wrote after its endpoint last reported usage. */
export interface UsageSoFar {
  /** The estimated tokens of the request. */
  request_tokens: number;
  /** Null: the endpoint has reported nothing. */
  reported: Answered | null;
  /** The text, the thinking and the calls that came after the last report, or since the beginning. */
  unreported: string;
}

/** Follows the usage of an exchange in progress: pass each piece that the model writes, and what its endpoint reports. */
export function followUsage(request_tokens: number) {
  const so_far: UsageSoFar = { request_tokens, reported: null, unreported: '' };
  return {
    so_far,
    addPiece(piece: string): void {
      so_far.unreported += piece;
    },
    report(reported: Answered): void {
      Object.assign(so_far, { reported, unreported: '' });
    },
  };
}

/** Returns the usage of an exchange that was broken off: what its endpoint reported, and an estimate of the rest. */
export function usageSoFar({ request_tokens, reported, unreported }: UsageSoFar, estimateTokens: (text: string) => number) {
  const reported_usage = reported?.usage ?? NO_EXCHANGE_USAGE;
  const total_in = reported_usage.total_in > 0 ? reported_usage.total_in : request_tokens;
  const usage = { ...reported_usage, total_in, total_out: reported_usage.total_out + estimateTokens(unreported) };
  const estimated = usage.total_in !== reported_usage.total_in || usage.total_out !== reported_usage.total_out;
  return { model: reported?.model ?? null, usage, estimated };
}

const addCapped = (sum: number, more: number) => Math.min(sum + more, MOST_COUNTED);

/** Returns a cost as people are shown it: null instead of zero if nothing of it is known. */
export const toShownCost = (cost: number, unpriced: boolean): number | null => (unpriced && cost === 0 ? null : cost);

/** Adds usage in the same way as the database. */
export const addUsage = (sum: Usage, more: Usage): Usage => ({
  total_in: addCapped(sum.total_in, more.total_in),
  total_out: addCapped(sum.total_out, more.total_out),
  cache_read: addCapped(sum.cache_read, more.cache_read),
  cache_write: addCapped(sum.cache_write, more.cache_write),
  cost: sum.cost + more.cost,
  premium_requests: sum.premium_requests + more.premium_requests,
  ...(sum.estimated || more.estimated ? { estimated: true } : {}),
  ...(listUnpriced(sum, more).length > 0 ? { unpriced_models: listUnpriced(sum, more) } : {}),
});

const listUnpriced = (...usages: Usage[]): string[] => [
  ...new Set(usages.flatMap(({ unpriced_models = [] }) => unpriced_models)),
];
