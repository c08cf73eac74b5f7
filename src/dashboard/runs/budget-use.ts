import { formatDuration, formatMoney, formatNumber } from '../ui/figures.ts';

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

/** What is used of one limit: `$0.12 of $2.50`, and as a part of 1. */
export interface LimitUse {
  text: string;
  part: number;
}

/** Returns what is used of each limit of a budget. Of a cost that nobody knows, no part is shown. */
export function budgetUse(budget: Limits | null, { cost, tokens, seconds }: Used): LimitUse[] {
  const of = (used: number | null, most: number | null | undefined, format: (value: number) => string, unit = ''): LimitUse[] => {
    if (most === null || most === undefined) return [];
    const text = `${used === null ? 'unknown' : format(used)} of ${format(most)}${unit}`;
    return [{ text, part: most === 0 ? 1 : Math.min(1, (used ?? 0) / most) }];
  };
  return [
    ...of(cost, budget?.max_cost_usd, formatMoney),
    ...of(tokens, budget?.max_tokens, formatNumber, ' tokens'),
    ...of(seconds, budget?.max_seconds, (value) => formatDuration(value * 1000)),
  ];
}
