import { Group, Progress, Text } from '@mantine/core';
import type { PeriodBudget } from '../../contracts/budgets.ts';
import { formatMoney, formatNumber, formatRate } from '../ui/figures.ts';
import type { Column } from '../ui/list.tsx';
import { When } from '../ui/time.tsx';
import { Named } from './columns.tsx';
import { KINDS } from './references.ts';

type Unit = Pick<PeriodBudget, 'limit_usd' | 'limit_tokens'>;

/** Formats an amount in the unit of the budget's limit. */
export const formatAmount = ({ limit_usd }: Unit, amount: number) =>
  limit_usd === null ? `${formatNumber(Math.round(amount))} tokens` : formatMoney(amount);

export const formatLimit = (budget: Unit & Pick<PeriodBudget, 'period'>) =>
  `${formatAmount(budget, (budget.limit_usd ?? budget.limit_tokens)!)} a ${budget.period}`;

/** What a budget limits, with a link if it has a page. */
export function BudgetSubject({ budget: { scope, subject_id } }: { budget: Pick<PeriodBudget, 'scope' | 'subject_id'> }) {
  if (scope === 'installation' || subject_id === null) return 'the installation';
  if (scope === 'person') return <>person {subject_id}</>;
  return (
    <>
      {scope.replaceAll('_', ' ')} <Named kind={scope} slug={KINDS[scope].slug} id={subject_id} />
    </>
  );
}

/** What is left of a budget, with a bar of what is spent and reserved. */
export function BudgetLeft({ budget }: { budget: PeriodBudget }) {
  const limit = (budget.limit_usd ?? budget.limit_tokens)!;
  const toPercent = (amount: number) => Math.min(100, (amount / limit) * 100);
  const spent = toPercent(budget.spent);
  const is_near = budget.warn_at.some((share) => budget.used >= share);
  const color = budget.left === 0 ? 'red' : is_near ? 'yellow' : 'blue';
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress.Root w="6rem" size="sm">
        <Progress.Section value={spent} color={color} aria-label={`Spent of ${budget.name}`} />
        <Progress.Section
          value={Math.min(100 - spent, toPercent(budget.reserved))}
          color="gray"
          aria-label={`Reserved of ${budget.name}`}
        />
      </Progress.Root>
      <Text span inherit className="nowrap">
        {formatAmount(budget, budget.left)} ({formatRate(budget.left / limit)})
      </Text>
    </Group>
  );
}

export const budgetColumns: Column<PeriodBudget>[] = [
  { label: 'Limits', show: (budget) => <BudgetSubject budget={budget} /> },
  { label: 'Limit', figure: true, show: formatLimit },
  { label: 'Spent', figure: true, show: (budget) => formatAmount(budget, budget.spent) },
  { label: 'Reserved', figure: true, show: (budget) => formatAmount(budget, budget.reserved) },
  { label: 'Left', show: (budget) => <BudgetLeft budget={budget} /> },
  { label: 'Period ends', show: ({ period_ends_at }) => <When at={period_ends_at} relative /> },
];
