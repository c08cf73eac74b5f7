import { z } from 'zod';
import { Id } from './common.ts';

export const FORK_EFFECTS = ['recorded', 'stub', 'live'] as const;
export const ForkedFrom = z.object({ task_id: Id, step: z.int(), effects: z.enum(FORK_EFFECTS) }).meta({
  id: 'ForkedFrom',
  description: 'The run this one was forked from, the step it began at, and how its tool calls are handled',
});
export type ForkedFrom = z.output<typeof ForkedFrom>;
