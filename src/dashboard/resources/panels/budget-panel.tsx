import type { PeriodBudget } from '../../../contracts/budgets.ts';
import { Facts } from '../../ui/show.tsx';
import { When } from '../../ui/time.tsx';
import { BudgetLeft, BudgetSubject, formatAmount, formatLimit } from '../budget-columns.tsx';
import type { Stored } from '../resource.ts';

/** What a budget limits and what is left of it. */
export function BudgetPanel({ record }: { record: Stored }) {
  const budget = record as unknown as PeriodBudget;
  return (
    <Facts
      of={{
        Limits: <BudgetSubject budget={budget} />,
        Limit: formatLimit(budget),
        Spent: formatAmount(budget, budget.spent),
        Reserved: formatAmount(budget, budget.reserved),
        Left: <BudgetLeft budget={budget} />,
        'Period began': <When at={budget.period_starts_at} zone={budget.time_zone} />,
        'Period ends': <When at={budget.period_ends_at} zone={budget.time_zone} relative />,
      }}
    />
  );
}
