/** The limits of a run. A model call whose input would exceed a limit is not made. */
export interface BudgetLimits {
  max_cost_usd: number | null;
  max_tokens: number | null;
  max_seconds: number | null;
  on_exhausted: 'wait' | 'halt';
}

/** The usage of a run so far, or the expected usage of a call. */
interface Spent {
  cost: number;
  tokens: number;
  seconds: number;
}

/** Returns the reason the next call may not be made, as a sentence; null if it may. */
export function findExhaustedLimit(budget: BudgetLimits | null, spent: Spent, next: Spent): string | null {
  if (!budget) return null;
  const { max_cost_usd, max_tokens, max_seconds } = budget;
  if (max_tokens !== null && spent.tokens + next.tokens > max_tokens)
    return `The budget of ${max_tokens} tokens is used up: ${formatTokens(spent.tokens)} are spent and the next call needs about ${next.tokens}`;
  if (max_cost_usd !== null && (spent.cost + next.cost > max_cost_usd || spent.cost >= max_cost_usd))
    return `The budget of ${max_cost_usd} US dollars is used up: ${roundDollars(spent.cost)} are spent and the next call costs about ${roundDollars(next.cost)}`;
  if (max_seconds !== null && spent.seconds >= max_seconds)
    return `The budget of ${max_seconds} seconds is used up: the run has taken ${Math.round(spent.seconds)}`;
  return null;
}

const formatTokens = (tokens: number) => (Number.isFinite(tokens) ? tokens : 'more than can be counted');
const roundDollars = (amount: number) => Number(amount.toPrecision(3));
