import { z } from 'zod';
import { ForkChanges } from './fork-changes.ts';
import { FORK_EFFECTS, ForkedFrom } from './forks.ts';
import { ON_BUSY } from './lanes.ts';
import { PromptAccepted } from './workflows.ts';

export const ForkRequest = z
  .object({
    from_step: z.int().min(1).meta({ description: 'The first step to run again; earlier steps are copied' }),
    prompt: z.string().min(1).optional().meta({
      description: 'Added for the model before the step, after everything copied. At step 1 it replaces the prompt',
    }),
    effects: z
      .enum(FORK_EFFECTS)
      .default('recorded')
      .meta({
        description:
          '`recorded`: a call that the source run also made, at this step or later, gets the recorded result; any other `write` call is refused, ' +
          'and any other call is executed. `stub`: no tool is called. `live`: every call is executed',
      }),
    on_busy: z.enum(ON_BUSY).exclude(['steer']).optional(),
    in_thread: z
      .boolean()
      .default(false)
      .meta({
        description:
          "The fork becomes a turn of the source run's thread, next to the source, and the head of the thread. False: it is in no thread, " +
          'and reads the turns before the source run',
      }),
    changes: ForkChanges.optional(),
  })
  .meta({ id: 'ForkRequest', example: { from_step: 2, effects: 'recorded' } });

export const ForkAccepted = PromptAccepted.extend({ forked_from: ForkedFrom }).meta({ id: 'ForkAccepted' });
