import { z } from 'zod';
import { AgentUpdate } from './agents.ts';
import { CallSettingFields, ShownCallSettings } from './call-settings.ts';
import { Id, toPatchSchema } from './common.ts';
import { FORK_EFFECTS } from './forks.ts';
import { ON_BUSY } from './lanes.ts';
import { WorkflowUpdate } from './workflows.ts';

const { system_prompt, provider_id, model, custom_tool_ids, builtin_tools, mcp_server_ids } = AgentUpdate.shape;
const { output_format, reasoning_effort } = WorkflowUpdate.shape;

const MessageEdit = z.object({
  step: z.int().min(0),
  position: z.int(),
  content: z.string().min(1),
});

export const ForkChanges = z
  .object({
    system_prompt,
    provider_id: provider_id.meta({
      description: 'Used as it is now, with its default model unless `model` names one. Null: the default runtime',
    }),
    model: model.meta({ description: "Null: the provider's default model" }),
    custom_tool_ids: custom_tool_ids.meta({
      description: 'Tools that the source run has stay as they were then; others are used as they are now',
    }),
    builtin_tools,
    mcp_server_ids: mcp_server_ids.meta({ description: 'Servers of the source run; others are left out' }),
    output_format,
    reasoning_effort,
    ...toPatchSchema(z.object(CallSettingFields)).shape,
    messages: z
      .array(MessageEdit)
      .optional()
      .meta({
        description:
          'Copied messages that get another text, by their `step` and `position` in the request of the step. ' +
          'Calls stay as they are. The first prompt is also what the fork is a run of',
      }),
  })
  .meta({
    id: 'ForkChanges',
    description: 'What the fork has differently from its source run, from `from_step` on. Fields left out stay as they were',
    example: { system_prompt: 'Answer in one sentence.', reasoning_effort: 'low' },
  });

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
          "The fork becomes a turn of the source run's thread, beside the source, and the head of the thread. False: it is in no thread, " +
          'and reads the turns before the source run',
      }),
    changes: ForkChanges.optional(),
  })
  .meta({ id: 'ForkRequest', example: { from_step: 2, effects: 'recorded' } });

/** The fields that a fork may change, as the run has them. */
export const ChangeableFields = z
  .object({
    system_prompt: z.string(),
    provider_id: Id.nullable(),
    model: z.string().nullable(),
    custom_tool_ids: z.array(z.string()),
    builtin_tools: z.array(z.string()),
    mcp_server_ids: z.array(z.string()),
    output_format: z.string(),
    reasoning_effort: z.string().nullable(),
    ...ShownCallSettings,
  })
  .meta({ id: 'ChangeableFields', description: 'What this run has in the fields that `changes` of a fork can replace' });
export type ChangeableFields = z.output<typeof ChangeableFields>;
