import { z } from 'zod';

export const ON_BUSY = ['enqueue', 'reject', 'interrupt', 'steer'] as const;

/** The settings for what the prompts of a workflow have to do with each other. */
export const LaneFields = {
  on_busy: z.enum(ON_BUSY).default('enqueue').meta({
    description:
      'What to do with a prompt while a run is in progress: `enqueue` runs it afterwards, `reject` refuses it, `interrupt` halts the run, `steer` lets the run read the prompt at its next step (schedules enqueue theirs). Of several prompts that interrupt, only the newest runs; the others end `halted` with `superseded`',
  }),
  remember: z.enum(['none', 'thread']).default('none').meta({
    description:
      'What a run knows of earlier ones. `none`: nothing. `thread`: each prompt is a turn of a conversation, a new one or that of its `thread_id`, and its model reads the turns before. Threads of a workflow run next to each other; `on_busy` decides within each',
  }),
  on_inactive: z.enum(['halt', 'wait']).default('halt').meta({
    description:
      'What happens to prompts that wait when the workflow is switched off: `halt` ends them with `workflow_inactive`, `wait` keeps them until it is switched on. The run in progress continues',
  }),
};
