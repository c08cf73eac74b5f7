import { z } from 'zod';
import { TASK_STATUSES } from '../domain/statuses.ts';
import { Attachment } from './attachments.ts';
import { Budget } from './budgets.ts';
import { Id, Timestamp, TOOL_EFFECTS } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { LogEntry } from './events.ts';
import { ForkRequest } from './fork-changes.ts';
import { ForkedFrom } from './forks.ts';
import { Todo } from './log-events.ts';
import { CallQuestion } from './questions.ts';
import { RunFigures } from './run-figures.ts';
import { ErrorGroup, TaskFilterQuery, TaskQuery, versionsNamed } from './task-lists.ts';
import { MessageReceipt } from './thread-messages.ts';
import { UsageCounts, UsageTotals } from './usage-counts.ts';
import { PromptAccepted, TranscriptEntry } from './workflows.ts';

export const Task = z
  .object({
    id: Id,
    workflow_id: Id,
    workflow_title: z.string().nullable(),
    agent_id: Id,
    agent_name: z.string(),
    model: z.string().nullable(),
    reasoning_effort: z.string().nullable(),
    status: z.enum(TASK_STATUSES),
    prompt: z.string(),
    attachments: z.array(Attachment).meta({ description: 'Files that its model is given with the prompt' }),
    trigger: z.string(),
    scheduled_agent_id: Id.nullable(),
    thread_id: Id.nullable().meta({ description: 'The conversation of which it is a turn' }),
    previous_task_id: Id.nullable().meta({ description: 'The turn before it, whose messages its model reads' }),
    thread_turn: z.int().nullable().meta({ description: 'Its number among the turns of its branch, from 1' }),
    response: z.unknown().meta({ description: 'The final answer: a JSON value, or text for markdown; null before' }),
    error: z.string().nullable(),
    error_code: z.string().nullable(),
    usage: UsageTotals,
    turns: z.int().meta({ description: 'Tool calls so far; the limit `max_turns` counts them' }),
    tool_calls: z.int().meta({ description: 'The same as turns' }),
    steps: z.int().meta({ description: 'Exchanges with the model so far' }),
    turn_limit_reached: z.boolean(),
    truncated: z.boolean().meta({
      description: 'The answer ended at the output limit of the model, so `response` is incomplete',
    }),
    record_behind: z
      .string()
      .nullable()
      .meta({
        description:
          'What the record lacks of what the run has done, because the installation was restored from an older record. ' +
          'While the run is `waiting`, decide with `POST /api/tasks/{id}/continuity`',
      }),
    definition_hash: z.string(),
    forked_from: ForkedFrom.nullable(),
    engine_run_url: z.string().nullable().meta({ description: 'The run in the Temporal UI' }),
    elapsed_seconds: z.number().nullable(),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    completed_at: Timestamp.nullable(),
  })
  .meta({ id: 'Task' });
export type Task = z.output<typeof Task>;

const TaskProgress = z
  .object({ todos: z.array(Todo), current_step: z.string(), percent_complete: z.int().min(0).max(100) })
  .meta({ id: 'TaskProgress' });

export const ToolCallRecord = z
  .object({
    call_id: z.string(),
    name: z.string(),
    arguments: z.string().meta({ description: "The model's own text" }),
    effect: z.enum(TOOL_EFFECTS),
    approval: z.boolean(),
    status: z.enum([
      'planned',
      'started',
      'done',
      'denied',
      'waiting_approval',
      'waiting_reconciliation',
      'waiting_client',
      'waiting_answer',
    ]),
    attempts: z.int(),
    errors: z.int(),
    failed: z.boolean().nullable(),
    result: z.string().nullable(),
    answered_by: z.enum(['recorded', 'stub', 'refused']).nullable().meta({
      description: 'In a fork: what answered the call, if this run did not call the tool',
    }),
    question: CallQuestion.nullable(),
    decided_by: z.string().nullable(),
    stdout: z.string().nullable(),
    stderr: z.string().nullable(),
    duration_ms: z.int().nullable(),
    started_at: Timestamp.nullable(),
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: 'ToolCallRecord' });
export type ToolCallRecord = z.output<typeof ToolCallRecord>;
export const TaskStep = z
  .object({
    step: z.int(),
    copied: z.boolean().meta({ description: 'Copied from the source run of this fork; not paid for again' }),
    model: z.string().nullable(),
    provider_id: Id.nullable().meta({ description: 'The provider that answered; null: the default runtime, or it is not known' }),
    provider_name: z.string().nullable(),
    fallback: z.int().meta({ description: "Its place among the run's fallbacks; 0: the run's own model answered" }),
    attempts: z.int().meta({ description: 'Lost workers and recoverable errors included' }),
    errors: z.int(),
    error: z.string().nullable(),
    finish: z.string().nullable(),
    usage: UsageCounts.omit({ premium_requests: true }),
    input: z.array(z.object({ role: z.string(), kind: z.string(), content: z.string() })).meta({
      description: 'Messages added for the model since the previous step',
    }),
    output: z.string().nullable(),
    started_at: Timestamp,
    ended_at: Timestamp.nullable(),
    duration_ms: z.int().nullable(),
    tool_calls: z.array(ToolCallRecord),
  })
  .meta({ id: 'TaskStep', description: 'One exchange with the model and the tool calls it asked for' });
export type TaskStep = z.output<typeof TaskStep>;
const ForkAccepted = PromptAccepted.extend({ forked_from: ForkedFrom }).meta({ id: 'ForkAccepted' });

const TASK_PARTS = ['messages', 'logs', 'steps'] as const;
const isPart = (name: string) => (TASK_PARTS as readonly string[]).includes(name);

export const TaskDetail = Task.extend({
  ...RunFigures.shape,
  messages: z.array(TranscriptEntry).optional(),
  logs: z.array(LogEntry).optional(),
  waiting_messages: z.array(MessageReceipt).meta({
    description: 'Messages that the run reads at its next step, in the order in which they were accepted',
  }),
  steps_detail: z.array(TaskStep).optional().meta({ description: 'With include=steps; the same as /steps' }),
}).meta({ id: 'TaskDetail' });
export type TaskDetail = z.output<typeof TaskDetail>;
const IncludeQuery = z.object({
  include: z
    .string()
    .default('messages,logs')
    .transform((text) =>
      text
        .split(',')
        .map((name) => name.trim())
        .filter(Boolean),
    )
    .refine((names) => names.every(isPart), { message: `\`include\` takes ${TASK_PARTS.join(', ')}, comma separated` })
    .meta({ description: 'What comes with the run: any of messages, logs, steps, comma separated; empty for none of them' }),
});

const tag = 'Tasks';
const base = { tag, reply: Task };

export const tasks = {
  list: endpoint('GET /api/tasks', {
    ...base,
    operation: 'list_tasks',
    summary: "List runs of the caller's workflows, newest first",
    query: versionsNamed(TaskQuery),
    kind: 'page',
  }),
  errors: endpoint('GET /api/tasks/errors', {
    operation: 'list_task_errors',
    tag,
    summary: 'Why runs ended early: their error codes, the most frequent first',
    query: versionsNamed(TaskFilterQuery),
    reply: z.array(ErrorGroup),
  }),
  get: endpoint('GET /api/tasks/{id}', {
    ...base,
    operation: 'get_task',
    summary: 'Get a run, with its messages and logs',
    params: IdParams,
    query: IncludeQuery,
    reply: TaskDetail,
    refuses: [403],
  }),
  progress: endpoint('GET /api/tasks/{id}/progress', {
    operation: 'get_task_progress',
    tag,
    summary: "The agent's to-do list",
    params: IdParams,
    reply: TaskProgress,
    refuses: [403],
  }),
  steps: endpoint('GET /api/tasks/{id}/steps', {
    operation: 'get_task_steps',
    tag,
    summary: 'What a run did, step by step',
    description: 'Model calls and tool calls with their times, attempts, usage, inputs and outputs.',
    params: IdParams,
    reply: z.array(TaskStep),
    refuses: [403],
  }),
  fork: endpoint('POST /api/tasks/{id}/fork', {
    operation: 'fork_task',
    access: 'run',
    tag,
    summary: 'Fork a run at one of its steps',
    description:
      'Starts another run of the same workflow with the pinned definition of this run and its transcript before `from_step`. ' +
      '`changes` tries another system prompt, model, set of tools or text of a message; the workflow keeps its settings. ' +
      'A run whose conversation is kept by a vendor cannot be forked.',
    params: IdParams,
    body: ForkRequest,
    reply: ForkAccepted,
    status: 201,
    refuses: [403, 409, 503],
    idempotent: true,
  }),
  ofWorkflow: endpoint('GET /api/tasks/workflow/{workflow_id}', {
    ...base,
    operation: 'list_workflow_tasks',
    summary: 'List runs of one workflow, newest first',
    params: z.object({ workflow_id: Id }),
    query: TaskQuery.omit({ workflow_id: true }),
    kind: 'page',
    refuses: [403],
  }),
  stop: endpoint('POST /api/tasks/{id}/stop', {
    operation: 'stop_task',
    access: 'run',
    tag,
    summary: 'Stop a running, waiting or pending run',
    params: IdParams,
    reply: z.object({ status: z.literal('halt_requested'), workflow_id: Id }).meta({ id: 'StopRequested' }),
    status: 202,
    refuses: [403, 409, 503],
  }),
  budget: endpoint('POST /api/tasks/{id}/budget', {
    ...base,
    operation: 'set_task_budget',
    access: 'run',
    summary: 'Change the budget of a run in progress',
    description: 'A run that waits for its budget resumes if the next model call fits the new one.',
    params: IdParams,
    body: Budget,
    refuses: [403, 409, 503],
  }),
  approve: endpoint('POST /api/tasks/{id}/approvals/{call_id}', {
    operation: 'decide_approval',
    access: 'run',
    tag,
    summary: 'Approve or deny a tool call that waits for a person',
    params: z.object({ id: Id, call_id: z.string() }),
    body: z
      .object({ decision: z.enum(['approve', 'deny']), message: z.string().optional() })
      .meta({ id: 'ApprovalDecision', example: { decision: 'approve' } }),
    reply: Task,
    refuses: [403, 409, 503],
  }),
  continuity: endpoint('POST /api/tasks/{id}/continuity', {
    operation: 'decide_continuity',
    access: 'run',
    tag,
    summary: 'Resume or fail a run whose record is older than the run',
    description:
      'After a restore the record of a run may lack steps that the run has made (`record_behind`). `resume` starts the run again from ' +
      'its record: no recorded step is repeated, and the outcome of each `write` call that may have happened is asked for. ' +
      '`fail` ends the run with the code `record_behind`.',
    params: IdParams,
    body: z.object({ decision: z.enum(['resume', 'fail']) }).meta({ id: 'ContinuityDecision', example: { decision: 'resume' } }),
    reply: Task,
    refuses: [403, 409, 503],
  }),
  reconcile: endpoint('POST /api/tasks/{id}/reconciliations/{call_id}', {
    operation: 'decide_reconciliation',
    access: 'run',
    tag,
    summary: 'Decide about a tool call that may have taken effect',
    description:
      'Its worker or its MCP server was lost, or the installation was restored. `retry` calls the tool, `done` takes `result` as its result, `fail` reports to the model that it failed.',
    params: z.object({ id: Id, call_id: z.string() }),
    body: z
      .object({ decision: z.enum(['retry', 'done', 'fail']), result: z.unknown().optional() })
      .meta({ id: 'ReconciliationDecision', example: { decision: 'done', result: { receipt: 7 } } }),
    reply: Task,
    refuses: [403, 409, 503],
  }),
};
