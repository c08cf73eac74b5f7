import { z } from 'zod';
import { Id, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { ChangeableFields } from './fork-changes.ts';
import { TaskStep } from './tasks.ts';
import { UsageCounts } from './usage-counts.ts';

export const RunSpan = z
  .object({
    id: z.string().meta({ description: 'The number of the step for a model call, the `call_id` for a tool call' }),
    parent: z
      .string()
      .nullable()
      .meta({ description: 'The span it belongs to: the model call that asked for the tool, or what was paused' }),
    kind: z.enum(['model', 'tool', 'retry', 'wait']),
    step: z.int(),
    name: z.string().meta({ description: 'The model, the tool, the error code of the failed attempt, or what is waited for' }),
    status: z.enum(['planned', 'running', 'waiting', 'completed', 'failed', 'denied', 'halted']).meta({
      description: 'What was open when the run ended has the status of the run',
    }),
    attempts: z.int(),
    detail: z.string().nullable(),
    copied: z.boolean().meta({ description: 'Copied from the source run of this fork, with its times' }),
    start: Timestamp.nullable().meta({ description: 'Null: not started' }),
    end: Timestamp.nullable().meta({
      description: 'Null: not ended. A retry ends when the next attempt is due; with a fallback, at once',
    }),
    usage: UsageCounts.pick({ total_in: true, total_out: true, cost: true, priced: true, estimated: true })
      .nullable()
      .meta({ description: 'What a model call used; null for everything else, and until the model has answered' }),
  })
  .meta({ id: 'RunSpan', description: 'A model call, a tool call, the wait before a retry, or a wait for a person or a budget' });
export type RunSpan = z.output<typeof RunSpan>;

const RequestMessage = z.object({
  step: z.int(),
  position: z.int(),
  role: z.string(),
  kind: z.string().meta({
    description:
      '`prompt`, `memories`, `knowledge`, `reply`, `result`, `denial`, `reminder`, or `summary`, which stands for older messages',
  }),
  content: z.string(),
  tool_calls: z.array(z.object({ call_id: z.string(), name: z.string(), arguments: z.string() })).nullable(),
  call_id: z.string().nullable(),
  extra: z.unknown().meta({
    description: 'What belongs to a reply besides its text: `reasoning`, which is shown only, and what the provider wants back',
  }),
});

export const StepRequest = z
  .object({
    step: z.int(),
    model: z.string().nullable(),
    instructions: z
      .string()
      .meta({ description: "The system prompt as it was sent: the agent's, the skills, the answer format" }),
    system_prompt: z.string().meta({ description: "The agent's own" }),
    skills: z.array(z.object({ name: z.string(), instructions: z.string() })),
    messages: z.array(RequestMessage),
    tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) })),
    parameters: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The other fields of the request, such as `reasoning_effort`' }),
    changeable: ChangeableFields,
    not_rebuilt: z.array(z.string()).meta({ description: 'What may differ from the request that was sent, one sentence each' }),
  })
  .meta({ id: 'StepRequest', description: 'Everything that the model was sent at a step' });
export type StepRequest = z.output<typeof StepRequest>;

const StepParams = z.object({
  id: Id,
  step: z
    .string()
    .regex(/^[1-9]\d{0,8}$/)
    .meta({ description: 'Number of the step, from 1', example: '1' }),
});

const facts = { tag: 'Tasks', refuses: [403] };

export const runInspection = {
  timeline: endpoint('GET /api/tasks/{id}/timeline', {
    ...facts,
    operation: 'get_task_timeline',
    summary: 'When a run did what',
    description:
      'Every model call, tool call, retry and wait with its start, end and status, without their texts. ' +
      'Each span is followed by those that belong to it.',
    params: IdParams,
    reply: z.array(RunSpan),
  }),
  step: endpoint('GET /api/tasks/{id}/steps/{step}', {
    ...facts,
    operation: 'get_task_step',
    summary: 'One step of a run',
    params: StepParams,
    reply: TaskStep,
  }),
  request: endpoint('GET /api/tasks/{id}/steps/{step}/request', {
    ...facts,
    operation: 'get_task_step_request',
    summary: 'What the model saw at a step',
    description:
      'The request is built again from the frozen definition and the record, by the code that built it in the run. Values of stored tokens ' +
      'are redacted. `not_rebuilt` states what may differ from the request that was sent.',
    params: StepParams,
    reply: StepRequest,
  }),
};
