import { z } from 'zod';
import { protective } from './common.ts';

/** The largest budget. No run reaches it, and sums of it are exact. */
const MOST_SPENT = 1_000_000_000_000;

export const Budget = protective(
  z.object({
    max_cost_usd: z.number().positive().max(MOST_SPENT).nullable().default(null),
    max_tokens: z.int().positive().max(MOST_SPENT).nullable().default(null),
    max_seconds: z.number().positive().max(MOST_SPENT).nullable().default(null),
    on_exhausted: z.enum(['wait', 'halt']).default('wait'),
  }),
).meta({ id: 'Budget', description: 'Reserved before each model call', example: { max_cost_usd: 2.5, on_exhausted: 'wait' } });
