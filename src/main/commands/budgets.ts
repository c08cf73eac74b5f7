import type { PeriodBudget } from '../../client/index.ts';
import { listCommand } from '../remote/list.ts';
import { formatTime } from '../remote/table.ts';

export default listCommand<PeriodBudget>('budgets', {
  route: 'GET /api/budgets',
  titles: ['NAME', 'LIMITS', 'LIMIT', 'SPENT', 'RESERVED', 'LEFT', 'PERIOD ENDS'],
  row: formatRow,
});

function formatRow(budget: PeriodBudget): string[] {
  const { name, scope, subject_id, period, limit_usd, limit_tokens, spent, reserved, left, period_ends_at } = budget;
  const format = (amount: number) =>
    limit_usd === null ? `${Math.round(amount)} tokens` : `$${Number(amount.toFixed(6)).toString()}`;
  return [
    name,
    subject_id === null ? scope : `${scope} ${subject_id}`,
    `${format((limit_usd ?? limit_tokens)!)} a ${period}`,
    format(spent),
    format(reserved),
    format(left),
    formatTime(period_ends_at),
  ];
}
