import type { ModelPrices } from './definition.ts';
import { findWithoutPrice } from './unpriced.ts';
import { calculateCost } from './usage.ts';

/** The tokens of an answer that are reserved if its length has no limit (`max_output_tokens`). */
const EXPECTED_OUTPUT = 4_096;

/** What a call of a model is expected to use, and what it uses at least. Costs are in US dollars; null: nobody knows them. */
export interface ExpectedCall {
  least_cost: number | null;
  cost: number | null;
  least_tokens: number;
  tokens: number;
}

/** The model that a call asks. */
export interface CalledModel {
  asked: string | null;
  /** The models without a price that have answered in its place before. */
  answered: readonly string[];
  prices: ModelPrices;
}

/**
 * Returns what a call is expected to use: its request, which is the least, and an answer. `max_output`: the most tokens of the answer;
 * null: no limit.
 */
export function expectCall(
  tokens: number,
  max_output: number | null | undefined,
  { asked, answered, prices }: CalledModel,
): ExpectedCall {
  const total_out = max_output ?? EXPECTED_OUTPUT;
  const request = { total_in: tokens, total_out: 0, cache_read: 0, cache_write: 0 };
  const is_priced = findWithoutPrice(asked, answered, prices) === undefined;
  return {
    least_cost: is_priced ? calculateCost(request, [asked], prices) : null,
    cost: is_priced ? calculateCost({ ...request, total_out }, [asked], prices) : null,
    least_tokens: tokens,
    tokens: tokens + total_out,
  };
}

/** A budget above a run, with what is spent of it in its present period. */
export interface CapSpent {
  budget_id: string;
  name: string;
  unit: 'usd' | 'tokens';
  limit: number;
  spent: number;
  /** The end of the period in ISO 8601. */
  ends_at: string;
}

/** A budget that a call does not fit. */
export interface BlockingCap extends CapSpent {
  /**
   * `exhausted`: what is left is less than the least that the call uses; `busy`: the rest is reserved by calls in progress; `never`: the
   * whole budget is less than the call uses; `unpriced`: it is in dollars, and the model that is asked, or one that answered, has no price.
   */
  reason: 'exhausted' | 'busy' | 'never' | 'unpriced';
  reserved: number;
  /** What the call uses at least; null if `unpriced`. */
  least: number | null;
}

/** A budget of which a share of `warn_at` is used for the first time in its period. */
export interface CapWarning extends CapSpent {
  share: number;
}

const format = (amount: number, unit: CapSpent['unit']): string =>
  unit === 'usd' ? `${Number(amount.toPrecision(3))} US dollars` : `${Math.round(amount)} tokens`;

const until = (ends_at: string) => ends_at.replace('.000Z', 'Z');

/** Returns why a call of a model does not fit a budget and what to do, as a sentence. `default_model`: the name of a model without one. */
export function explainBlock(
  { name, reason, unit, limit, spent, reserved, least, ends_at }: BlockingCap,
  { asked, answered, prices }: CalledModel,
  default_model: string,
): string {
  const budget = `The budget ${name} of ${format(limit, unit)}`;
  switch (reason) {
    case 'exhausted':
      return `${budget} is used up until ${until(ends_at)}: ${format(spent, unit)} are spent and the next call needs at least ${format(least!, unit)}; raise the budget or wait`;
    case 'busy':
      return `${budget} has no room for the next call: ${format(spent, unit)} are spent and ${format(reserved, unit)} are reserved by calls in progress; the run continues when there is room, at the latest at ${until(ends_at)}`;
    case 'never':
      return `${budget} is less than the next call needs, ${format(least!, unit)}; raise the budget or shorten the input`;
    case 'unpriced':
      return `${budget} cannot count the model ${findWithoutPrice(asked, answered, prices) ?? default_model}, which has no price: set its price in the provider's price_table, or give the budget a limit in tokens`;
  }
}

export const explainSpent = ({ name, unit, limit, spent, ends_at }: CapSpent): string =>
  `The budget ${name} of ${format(limit, unit)} is used up until ${until(ends_at)}: ${format(spent, unit)} are spent`;

export const explainWarning = ({ name, unit, limit, spent, ends_at }: CapSpent): string =>
  `${Math.floor((spent / limit) * 100)} % of the budget ${name} of ${format(limit, unit)} are spent; it begins again at ${until(ends_at)}`;
