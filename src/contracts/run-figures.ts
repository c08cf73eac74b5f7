import { z } from 'zod';
import { TASK_STATUSES } from '../domain/statuses.ts';
import { Budget } from './budgets.ts';
import { Id, Timestamp } from './common.ts';

const Fork = z
  .object({ task_id: Id, step: z.int(), status: z.enum(TASK_STATUSES), created_at: Timestamp })
  .meta({ id: 'ForkOfRun', description: 'A run that was forked from this one, and the step it began at' });

/** The figures of one run that its record does not hold. */
export const RunFigures = z.object({
  waiting_seconds: z.number().nullable().meta({
    description:
      'Time in the status `waiting`: for an approval, a reconciliation, a budget, or a decision after a restore. Null: not started',
  }),
  working_seconds: z.number().nullable().meta({ description: '`elapsed_seconds` without `waiting_seconds`' }),
  budget: Budget.nullable().meta({ description: 'The budget that applies to this run, including later changes' }),
  priced: z.boolean().meta({
    description: 'Whether every answer of a model had a price; if not, `usage.cost` lacks their cost. The same as `usage.priced`',
  }),
  forks: z.array(Fork).meta({ description: 'Oldest first, at most 100' }),
});
