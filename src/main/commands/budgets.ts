import type { PeriodBudget } from '../../client/index.ts';
import type { Config } from '../config.ts';
import { JSON_OPTION, parseOptions, usageError } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { printable, say, sayJson } from '../terminal.ts';

/** `perdura budgets ls`: lists the budgets that concern the caller, with what is left of each. */
export default async function budgets(config: Config, args: string[]): Promise<void> {
  const { values, words } = parseOptions('budgets', args, { options: JSON_OPTION, words: ['verb'] });
  if (words[0] !== 'ls') throw usageError('budgets', `There is no perdura budgets ${words[0]}`);
  const client = await remoteClient(config);
  const found: PeriodBudget[] = [];
  for await (const budget of client.items('GET /api/budgets')) found.push(budget);
  if (values.json) sayJson(found);
  else for (const line of formatTable([TITLES, ...found.map(formatRow)])) say(line);
}

const TITLES = ['NAME', 'LIMITS', 'LIMIT', 'SPENT', 'RESERVED', 'LEFT', 'PERIOD ENDS'];

function formatRow(budget: PeriodBudget): string[] {
  const { name, scope, subject_id, period, limit_usd, limit_tokens, spent, reserved, left, period_ends_at } = budget;
  const format = (amount: number) =>
    limit_usd === null ? `${Math.round(amount)} tokens` : `$${Number(amount.toFixed(6)).toString()}`;
  return [
    printable(name),
    subject_id === null ? scope : `${scope} ${subject_id}`,
    `${format((limit_usd ?? limit_tokens)!)} a ${period}`,
    format(spent),
    format(reserved),
    format(left),
    period_ends_at.replace('.000Z', 'Z'),
  ];
}

function formatTable(rows: string[][]): string[] {
  const widths = TITLES.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  );
}
