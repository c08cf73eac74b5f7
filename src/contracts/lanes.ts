import { z } from 'zod';

export const ON_BUSY = ['enqueue', 'reject', 'interrupt'] as const;

/** The setting for prompts that wait while their workflow has a run. */
export const LaneFields = {
  on_busy: z.enum(ON_BUSY).default('enqueue').meta({
    description:
      'What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run. Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded`',
  }),
  on_inactive: z.enum(['halt', 'wait']).default('halt').meta({
    description:
      'What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues',
  }),
};
