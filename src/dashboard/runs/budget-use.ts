import { formatCost, formatDuration, formatMoney, formatNumber } from '../ui/figures.ts';

interface Limits {
  max_cost_usd: number | null;
  max_tokens: number | null;
  max_seconds: number | null;
}

interface Used {
  /** Null: unknown. */
  cost: number | null;
  tokens: number;
  seconds: number;
}

/** Formats `$0.12 of $2.50, 1,200 of 5,000 tokens`; null if nothing is limited. */
export function budgetUse(budget: Limits | null, { cost, tokens, seconds }: Used): string | null {
  if (!budget) return null;
  const { max_cost_usd, max_tokens, max_seconds } = budget;
  const parts = [
    max_cost_usd === null ? null : `${formatCost({ cost })} of ${formatMoney(max_cost_usd)}`,
    max_tokens === null ? null : `${formatNumber(tokens)} of ${formatNumber(max_tokens)} tokens`,
    max_seconds === null ? null : `${formatDuration(seconds * 1000)} of ${formatDuration(max_seconds * 1000)}`,
  ].filter((part) => part !== null);
  return parts.length > 0 ? parts.join(', ') : null;
}
