import { z } from 'zod';
import { TERMINAL_STATUSES } from '../domain/statuses.ts';
import { AttachmentOrders } from './attachments.ts';
import { Budget } from './budgets.ts';
import { CallSettingFields } from './call-settings.ts';
import {
  ExchangeLimitFields,
  FilterQuery,
  Id,
  Needs,
  protective,
  QueryFlag,
  Tags,
  Timestamp,
  toPatchSchema,
  WebUrl,
} from './common.ts';
import { crud, endpoint, IdParams } from './endpoint.ts';
import { LogEntry, RunEvent } from './events.ts';
import { LaneFields, ON_BUSY } from './lanes.ts';
import { ModelName } from './model-name.ts';
import { OutputSchema } from './output-schema.ts';
import { MessageReceipt } from './thread-messages.ts';
import { UsageTotals } from './usage-counts.ts';

const OUTPUT_FORMATS = ['json', 'markdown'] as const;
/** The words that vendors are known to take. The catalogue of models says which model takes which. */
export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

export const ReasoningEffort = z
  .string()
  .regex(/^[a-z]{1,32}$/, 'must be a word of at most 32 letters in lower case, such as low')
  .meta({
    description: `How long the model thinks, such as ${REASONING_EFFORTS.join(', ')}. A word that the model is not known to take is sent, with a warning`,
  });
export const WORKFLOW_STATUSES = ['active', 'running', 'waiting', ...TERMINAL_STATUSES, 'inactive'] as const;

/** A token belongs in repo_token_name; in the URL it would end up in logs. */
const RepoUrl = z.url({ protocol: /^https$/ }).regex(/^[^/]+:\/\/[^/@]+(\/|$)/, 'Leave out user and password');
const Ids = z.array(Id).default([]);

/** The settings a person chooses; also the shape used by export and import. */
export const WorkflowCreate = z
  .object({
    agent_id: Id,
    model: ModelName.meta({ description: "Null: the agent's, then the provider's" }),
    title: z.string().max(500).nullable().default(null),
    max_turns: protective(z.int().min(1).max(10_000))
      .default(5)
      .meta({ description: 'Tool calls that a run may make; each is one turn' }),
    skill_ids: Ids,
    skill_tags: Tags,
    output_format: z.enum(OUTPUT_FORMATS).default('json'),
    output_schema: OutputSchema.nullable()
      .default(null)
      .meta({
        description:
          'JSON Schema (draft 2020-12) of the final answer, which is then JSON whatever `output_format` is. An answer that does not fit is sent back to the model once; if the next one does not fit either, the run fails with `output_invalid`',
        example: { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] },
      }),
    reasoning_effort: ReasoningEffort.nullable().default(null),
    ...CallSettingFields,
    infinite_session: z.boolean().default(true).meta({
      description:
        "When the conversation of a run fills the model's context window, a summary replaces its older part. Off: the run fails at that point",
    }),
    bypass_memory: z.boolean().default(false).meta({ description: 'Runs neither read nor store memories' }),
    auto_memory: z
      .boolean()
      .default(false)
      .meta({ description: 'After a completed run, the model names at most three lasting facts, and later runs are given them' }),
    tsv_tool_results: z.boolean().default(false).meta({
      description:
        'The model is given lists of records in tool results as tab-separated values (TSV) if that is shorter than JSON',
    }),
    caveman: z.boolean().default(false).meta({
      description: 'Filler words are removed from the instructions, and the model is asked for a terse answer, to save tokens',
    }),
    guardrail_ids: protective(z.array(Id)).default([]),
    guardrail_tags: protective(z.array(z.string())).default([]),
    repo_url: RepoUrl.nullable()
      .default(null)
      .meta({ description: "Checked out into the run's workspace before its first step" }),
    repo_branch: z
      .string()
      .regex(/^[^-\s][^\s~^:?*[\\]*$/, 'Not a branch name')
      .nullable()
      .default(null),
    repo_token_name: z.string().min(1).nullable().default(null),
    webhook_url: WebUrl.nullable().default(null),
    error_webhook_url: WebUrl.nullable().default(null),
    credential_overrides: z.record(z.string(), z.string()).default({}).meta({
      description: 'Names of environment variables of tools, each with the name of the stored token that it gets in these runs',
    }),
    budget: protective(Budget.nullable()).default(null),
    ...ExchangeLimitFields,
    ...LaneFields,
  })
  .meta({ id: 'WorkflowCreate' });

export type WorkflowSettings = z.output<typeof WorkflowCreate>;

export const WorkflowUpdate = toPatchSchema(WorkflowCreate)
  .extend({
    status: z
      .enum(WORKFLOW_STATUSES, { error: 'Send active or inactive' })
      .optional()
      .meta({
        description:
          'inactive: new prompts are refused. active: they are accepted again. Only runs set the other values; sending the one that the ' +
          'workflow has changes nothing, and any other is refused',
      }),
    enabled: z.boolean().optional().meta({ description: 'The same as `status` active or inactive' }),
  })
  .meta({ id: 'WorkflowUpdate' });

export const TranscriptEntry = z
  .object({
    role: z.string(),
    content: z.string(),
    kind: z.string(),
    step: z.int(),
    tool_calls: z.array(z.object({ call_id: z.string(), name: z.string(), arguments: z.string() })).nullable(),
    call_id: z.string().nullable(),
    truncated: z.boolean().meta({ description: 'A reply that ended at the output limit of the model' }),
    created_at: Timestamp,
  })
  .meta({ id: 'TranscriptMessage' });
export type TranscriptEntry = z.output<typeof TranscriptEntry>;

export const WorkflowSummary = z
  .object({
    id: Id,
    ...WorkflowCreate.shape,
    skill_ids: z.array(z.string()),
    guardrail_ids: z.array(z.string()),
    owner: z.string().meta({ description: 'Login of the owner' }),
    status: z.enum(WORKFLOW_STATUSES),
    enabled: z.boolean().meta({ description: 'Whether it takes prompts: false when `status` is inactive' }),
    needs: Needs,
    current_turn: z.int(),
    task_count: z.int().meta({ description: 'Tasks created so far, including those that were removed since' }),
    last_task_status: z.string().nullable(),
    last_task_at: Timestamp.nullable(),
    usage: UsageTotals.meta({ description: 'Of the last run' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'WorkflowSummary' });
export type WorkflowSummary = z.output<typeof WorkflowSummary>;
export const Workflow = z
  .object({
    ...WorkflowSummary.shape,
    messages: z.array(TranscriptEntry).meta({ description: 'Of the last run; empty if it was removed (`RETENTION_DAYS`)' }),
    logs: z.array(LogEntry),
  })
  .meta({ id: 'Workflow' });
export type Workflow = z.output<typeof Workflow>;
const PromptRequest = z
  .object({
    prompt: z.string().min(1).optional(),
    request: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Instead of `prompt`: its JSON text is the prompt' }),
    attachments: AttachmentOrders,
    reasoning_effort: ReasoningEffort.nullable().optional(),
    on_busy: z.enum(ON_BUSY).optional(),
    thread_id: Id.optional().meta({
      description: 'The conversation of this workflow that the prompt continues',
    }),
  })
  .refine(({ prompt, request }) => (prompt === undefined) !== (request === undefined), {
    message: 'Send exactly one of prompt and request',
    path: ['prompt'],
  })
  .meta({ id: 'PromptRequest', example: { prompt: 'What is 17 + 25?' } });

export const PromptAccepted = z
  .object({
    task_id: Id,
    workflow_id: Id,
    thread_id: Id.nullable().meta({ description: 'The conversation of which the run is a turn; null: of none' }),
    status: z.string(),
    prompt: z.string(),
    created_at: Timestamp,
    stream_url: z.string(),
  })
  .meta({ id: 'PromptAccepted' });

const HaltRequested = z
  .object({ status: z.literal('halt_requested'), workflow_id: Id, task_id: Id })
  .meta({ id: 'HaltRequested' });

const StreamQuery = z.object({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: 'Like Last-Event-ID, which counts more: everything after this number' }),
  task_id: Id.optional().meta({ description: 'Only this run; the stream ends after its last event' }),
});

const tag = 'Workflows';
const SkillParams = z.object({ id: Id, skill_id: Id });

export const workflows = {
  ...crud(
    { path: '/api/workflows', noun: 'workflow', tag },
    { record: Workflow, create: WorkflowCreate, update: WorkflowUpdate },
  ),
  remove: endpoint('DELETE /api/workflows/{id}', {
    operation: 'delete_workflow',
    tag,
    summary: 'Delete a workflow with its runs',
    description: 'Refused with 409 while a run is in progress or one of its schedules is enabled.',
    params: IdParams,
    query: z.object({
      force: QueryFlag('Halt its runs and delete its schedules first'),
    }),
    refuses: [403, 409, 412, 503],
  }),
  list: endpoint('GET /api/workflows', {
    operation: 'list_workflows',
    tag,
    summary: "List the caller's workflows, newest first",
    query: FilterQuery.extend({
      agent_id: Id.optional(),
      status: z.enum(WORKFLOW_STATUSES).optional(),
      single_use: QueryFlag('List the workflows that were made for one request at /v1 or /mcp instead'),
    }).omit({ tag: true, tags: true }),
    reply: WorkflowSummary,
    kind: 'page',
  }),
  prompt: endpoint('POST /api/workflows/{id}/prompt', {
    operation: 'prompt_workflow',
    access: 'run',
    tag,
    summary: 'Start a run',
    description:
      'Replies at once; follow `stream_url`, or read the task. A workflow has one run at a time: `on_busy` decides what happens to other prompts. With `steer`, the run in progress reads the prompt; the answer is then 202 with its receipt.',
    params: IdParams,
    body: PromptRequest,
    reply: PromptAccepted,
    status: 201,
    accepts: MessageReceipt,
    refuses: [403, 409, 503],
    idempotent: true,
  }),
  halt: endpoint('POST /api/workflows/{id}/halt', {
    operation: 'halt_workflow',
    access: 'run',
    tag,
    summary: 'Stop the run in progress',
    description: 'Text and usage so far are kept.',
    params: IdParams,
    reply: HaltRequested,
    refuses: [403, 409, 503],
  }),
  stream: endpoint('GET /api/workflows/{id}/stream', {
    operation: 'stream_workflow',
    tag,
    summary: 'Follow the events of a workflow',
    description:
      'Server-sent events: `id:` increases within a workflow, `data:` holds the event. With Last-Event-ID (or `after`), every later event is replayed; without it, the current run from its start. Live events follow. A number that is not from this record, because it is higher than any or the installation was restored since, gets a `log` event `stream_reset` first: drop every event with a higher number than that one; those on record follow, from the start of the run. With `task_id` the stream ends when the task has ended; asked after its last event, the answer is 204, so that clients stop reconnecting. The bearer token is required here too.',
    params: IdParams,
    query: StreamQuery,
    reply: RunEvent,
    kind: 'events',
    resumable: true,
    refuses: [403],
  }),
  installSkill: endpoint('POST /api/workflows/{id}/skills/{skill_id}', {
    operation: 'install_skill',
    tag,
    summary: 'Install a skill on a workflow',
    params: SkillParams,
    reply: Workflow,
    refuses: [403],
  }),
  removeSkill: endpoint('DELETE /api/workflows/{id}/skills/{skill_id}', {
    operation: 'remove_skill',
    tag,
    summary: 'Remove a skill from a workflow',
    params: SkillParams,
    reply: Workflow,
    refuses: [403],
  }),
};
