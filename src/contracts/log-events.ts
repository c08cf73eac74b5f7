import { z } from 'zod';
import { FALLBACK_REASONS } from '../domain/fallback-reasons.ts';
import { ANSWER_ACTIONS } from '../domain/questions.ts';
import { Attachment } from './attachments.ts';
import { Id } from './common.ts';
import { ForkedFrom } from './forks.ts';
import { CallQuestion } from './questions.ts';

// To add an event, see docs/adding-an-event.md: declare it in LOG_EVENTS with a sentence that says when it happens, then call `log` of
// src/events/task-events.ts where it happens. The types of readers and clients follow, and the dashboard shows its name and detail.
// `npm run event-docs` writes docs/events.md, `npm run client-types` the types of the client.

/** An event with the sentence that docs/events.md shows. Every event has a `detail` for people, besides its fields. */
const defineEvent = <S extends z.ZodRawShape>(when: string, fields: S) =>
  z.object({ detail: z.string(), ...fields }).meta({ description: when });

export const Todo = z.object({ id: z.string(), title: z.string(), status: z.string() }).meta({ id: 'Todo' });

const step = z.int();
const call = { call_id: z.string(), name: z.string() };
const call_with_arguments = { ...call, arguments: z.string() };
export const RequestedCall = z.object(call_with_arguments).meta({ id: 'RequestedCall' });
const FoundPassage = z
  .object({ item_id: z.string().nullable(), name: z.string(), position: z.int(), score: z.number() })
  .meta({ id: 'FoundPassage' });
/** How a fork answered a call without executing it. */
const answered_by = z.enum(['recorded', 'stub', 'refused']).optional();
const ran_at = z.literal('provider').optional().meta({ description: "Present if the call ran at the model's provider" });
const by = z.string().meta({ description: 'The login of the person' });

const AskedModel = z
  .object({
    provider_id: Id.nullable().meta({ description: 'Null: the default runtime' }),
    provider: z.string().nullable(),
    model: z.string().nullable().meta({ description: "Null: the default of the provider's endpoint" }),
  })
  .meta({ id: 'AskedModel' });

const FallbackModel = AskedModel.extend({
  position: z.int().meta({ description: 'Its place among the fallbacks; 0: the model of the run itself, again' }),
}).meta({ id: 'FallbackModel' });

/** The log events of a run by name. */
export const LOG_EVENTS = {
  prompt_received: defineEvent('A prompt was accepted; `detail` is its beginning.', {
    task_id: Id,
    attachments: z.array(Attachment).readonly().optional(),
  }),
  message_waiting: defineEvent(
    'A person sent a message to the run, which reads it at its next step; `detail` is its beginning.',
    {
      message_id: Id,
    },
  ),
  message_withdrawn: defineEvent('The author of a message withdrew it before the run read it.', { message_id: Id }),
  message_passed_on: defineEvent('The run ended before it read a message, which another run gets; `detail` is its beginning.', {
    message_id: Id,
    task_id: Id.meta({ description: 'The run that gets it' }),
  }),
  message_refused: defineEvent('The run was stopped before it read a message, which no run gets; `detail` is its beginning.', {
    message_id: Id,
    reason: z.string().meta({ description: 'The code, or the sentence, of the reason that its receipt shows' }),
  }),
  forked: defineEvent('The run was created as a fork of another run.', {
    forked_from: ForkedFrom,
    changes: z.array(z.string()).optional().meta({ description: 'The fields in which the fork differs from its source' }),
  }),
  run_started: defineEvent('A worker began the first step of the run.', {}),
  context_built: defineEvent('The context of the first model call is complete.', {
    tools: z.array(z.string()).meta({ description: 'The names of the tools that the model is offered' }),
    not_joined: z.array(z.string()).optional().meta({ description: "Resources of others, which the agent's tags do not join" }),
  }),
  model_call: defineEvent('A step calls the model; `detail` is the name of the model.', { step }),
  model_response: defineEvent('The model answered; `detail` is its finish reason.', {
    step,
    unknown: z.boolean().optional().meta({
      description: 'True: Perdura does not know this finish reason, and took the answer for complete',
    }),
  }),
  tool_call: defineEvent('A tool call starts.', {
    ...call_with_arguments,
    attempt: z.int().optional().meta({ description: 'Present from the second attempt on' }),
    answered_by,
    ran_at,
  }),
  tool_result: defineEvent('A tool call ended.', {
    ...call,
    failed: z.boolean(),
    duration_ms: z.int().optional(),
    isolation: z.string().optional().meta({ description: 'The sandbox that confined a Python tool' }),
    stdout: z.string().optional(),
    stderr: z.string().optional(),
    answered_by,
    ran_at,
    files: z
      .array(Attachment)
      .readonly()
      .optional()
      .meta({ description: 'Images, sounds and other files of the result; download each as an attachment' }),
    result: z.string().optional().meta({ description: "The beginning of the result, if the call ran at the model's provider" }),
  }),
  tool_denied: defineEvent('A call was refused by a person or by the turn limit; `detail` is what the model is answered.', {
    call_id: z.string(),
    name: z.string().optional(),
  }),
  goal_reminder: defineEvent('The model was reminded of its goal, because half of the turns are used.', {}),
  approval_requested: defineEvent('A call waits until a person approves or denies it.', call_with_arguments),
  approval_decided: defineEvent('A person approved or denied a call.', {
    call_id: z.string(),
    decision: z.enum(['approve', 'deny']),
    by,
    message: z.string().optional(),
  }),
  reconciliation_requested: defineEvent('A call may have taken effect, and waits until a person reports the outcome.', {
    ...call_with_arguments,
    restored: z.boolean().meta({ description: 'True if the reason is a restore of the installation' }),
    cause: z.string().optional().meta({
      description:
        'Why nobody knows the outcome, if it is neither a restore nor a lost worker: the server of the tool was lost, or silent',
    }),
  }),
  reconciliation_decided: defineEvent('A person, or the worker that was believed lost, settled the outcome of a call.', {
    call_id: z.string(),
    name: z.string().optional(),
    decision: z.enum(['retry', 'done', 'fail']),
    by: by.optional(),
    message: z.string().optional(),
  }),
  client_call_requested: defineEvent('A call waits until the client executes it and sends the result.', call_with_arguments),
  client_call_answered: defineEvent('The client sent the result of a call.', { call_id: z.string() }),
  question_asked: defineEvent('A tool asks a person a question; `detail` is the question.', { ...call, question: CallQuestion }),
  question_answered: defineEvent('A question of a tool was answered, withdrawn, or expired.', {
    call_id: z.string(),
    name: z.string().optional(),
    question_id: Id,
    outcome: z.enum([...ANSWER_ACTIONS, 'withdrawn', 'expired']),
    by: by.optional(),
  }),
  record_behind: defineEvent('The record is older than the run, which waits until a person decides.', {
    missing: z.string().meta({ description: 'What the record lacks' }),
  }),
  continuity_decided: defineEvent('A person resumed or failed a run whose record is older than the run.', {
    decision: z.enum(['resume', 'fail']),
    by,
  }),
  retry: defineEvent('A step or call failed and is tried again; `detail` is the reason.', {
    step: step.optional(),
    call_id: z.string().optional(),
    error_code: z.string().optional(),
    wait_ms: z.number().optional(),
  }),
  fallback: defineEvent('A model failed for good, and a fallback is asked instead; `detail` names both and the failure.', {
    step,
    reason: z.enum(FALLBACK_REASONS),
    error_code: z.string(),
    from: AskedModel,
    to: FallbackModel,
  }),
  fallback_ended: defineEvent('The run asks its own model again, since `fallback_minutes` are over; `detail` names it.', {
    step,
    from: AskedModel,
    to: AskedModel,
  }),
  attempt_reset: defineEvent('A step is repeated: drop its unfinished text.', { step }),
  rate_limited: defineEvent('A step waits for the rate limit of its provider.', {
    step,
    error_code: z.string().optional(),
    wait_ms: z.number(),
  }),
  context_window_full: defineEvent(
    'The endpoint refused the request as longer than its window; it is compacted and sent once more.',
    {
      step,
      context_window: z.int().optional().meta({ description: 'The size that the endpoint named, in tokens' }),
    },
  ),
  compaction: defineEvent('A summary replaced older messages in what the model receives.', {
    step,
    messages: z.int().meta({ description: 'The number of replaced messages' }),
    up_to_step: z.int(),
  }),
  memory_loaded: defineEvent('Memories were given to the model.', { keys: z.array(z.string()) }),
  memory_stored: defineEvent('Facts of the finished run were stored as memories.', { keys: z.array(z.string()) }),
  knowledge_loaded: defineEvent('Knowledge sources were searched for the prompt.', {
    items: z.array(FoundPassage),
    warnings: z.array(z.string()).optional(),
  }),
  mcp_connected: defineEvent('An MCP server listed its tools, or one of its tools is offered under another name.', {
    server: z.string().optional(),
    tools: z.array(z.string()).optional(),
  }),
  mcp_error: defineEvent('An MCP server or one of its tools cannot be used.', { server: z.string() }),
  repo_synced: defineEvent('The repository of the run was checked out.', {
    branch: z.string().nullable(),
    commit: z.string(),
  }),
  guardrail_blocked: defineEvent("A guardrail withheld the model's answer.", { guardrail: z.string() }),
  output_guardrail_violation: defineEvent("The model's answer violates a guardrail.", {
    guardrail: z.string(),
    action: z.enum(['block', 'redact', 'warn']),
    reasons: z.array(z.string()),
  }),
  output_rejected: defineEvent('The answer does not fit the output schema; `detail` is the reason.', {
    step,
    final: z.boolean().meta({ description: 'True if the model is not asked again' }),
  }),
  progress: defineEvent('A tool reported progress, or the to-do list of the agent changed.', {
    call_id: z.string().optional(),
    todos: z.array(Todo).optional(),
    progress: z.number().optional(),
    total: z.number().optional(),
  }),
  budget_exhausted: defineEvent('The next model call does not fit the budget.', {
    step,
    on_exhausted: z.enum(['wait', 'halt']),
    budget_id: z
      .string()
      .optional()
      .meta({ description: 'The budget above the run that the call does not fit; absent: its own' }),
    until: z.string().optional().meta({ description: 'When the period of a used up budget ends' }),
  }),
  budget_warning: defineEvent('A budget above the run has reached one of its `warn_at`, for the first time in its period.', {
    step,
    budget_id: z.string(),
    used: z.number().meta({ description: 'The share of the budget that is spent' }),
  }),
  unpriced_model: defineEvent('The budget limits dollars, and nobody knows what a model of the run costs.', {
    step,
    on_exhausted: z.enum(['wait', 'halt']),
    model: z.string().nullable().meta({ description: 'Null: the default model' }),
    provider: z.string().nullable().meta({ description: 'The name of the provider; null: the default runtime' }),
    tokens: z.int().meta({ description: 'About what the next model call sends' }),
  }),
  halted: defineEvent('The run was halted.', {}),
  completed: defineEvent('The run is complete.', {}),
  error: defineEvent('The run failed; `detail` is the error.', { error_code: z.string().nullable() }),
  setting_left_out: defineEvent('A setting of the workflow is not sent to the model; `detail` is the reason.', {
    setting: z.string(),
  }),
  tools_not_offered: defineEvent('Tools of the agent are not offered to the model.', {
    tools: z.array(z.string()).meta({ description: 'Empty: all tools of the server' }),
    server: z.string().optional(),
    reason: z.string(),
  }),
  stream_reset: defineEvent('The installation was restored: drop every event with a higher number.', {}),
};

export type LogName = keyof typeof LOG_EVENTS;
