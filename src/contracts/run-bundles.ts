import { z } from 'zod';
import { FALLBACK_REASONS } from '../domain/fallback-reasons.ts';
import { Attachment } from './attachments.ts';
import { PinnedCallSettings } from './call-settings.ts';
import { Id, Timestamp, TOOL_EFFECTS } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';
import { ForkedFrom } from './forks.ts';
import { ToolCallRecord } from './tasks.ts';
import { UsageCounts } from './usage-counts.ts';

const BundledProvider = z.object({
  id: Id,
  name: z.string(),
  provider_type: z.string(),
  default_model: z.string().nullable(),
  requests_per_minute: z.int().nullable(),
  price_table: z.record(z.string(), z.looseObject({ input: z.number(), output: z.number() })),
});

export const BundledFallback = z.object({
  on: z.array(z.enum(FALLBACK_REASONS)),
  model: z.string().nullable(),
  provider: BundledProvider.optional().meta({ description: 'Absent: the provider of the definition' }),
  missing: z.string().optional().meta({ description: 'The id of a provider that did not exist' }),
});

/** The definition that a run was pinned with, without addresses, connection configurations and source code. */
export const BundledDefinition = z.object({
  agent: z.object({ id: Id, name: z.string(), system_prompt: z.string() }),
  workflow: z.object({ id: Id, title: z.string().nullable() }),
  model: z.string().nullable(),
  provider: BundledProvider.nullable(),
  fallbacks: z.array(BundledFallback).optional(),
  fallback_minutes: z.int().optional(),
  settings: z.object({
    max_turns: z.int(),
    output_format: z.string(),
    reasoning_effort: z.string().nullable(),
    infinite_session: z.boolean(),
    bypass_memory: z.boolean(),
    auto_memory: z.boolean(),
    tsv_tool_results: z.boolean(),
    caveman: z.boolean(),
    ...PinnedCallSettings,
  }),
  skills: z.array(z.object({ name: z.string(), instructions: z.string() })),
  guardrails: z
    .array(z.object({ name: z.string(), guardrail_type: z.string(), config: z.record(z.string(), z.unknown()) }))
    .optional(),
  approval_tools: z.array(z.string()),
  guarded_tools: z.array(z.string()).optional(),
  approve_effects: z.array(z.enum(TOOL_EFFECTS)).optional(),
  output_schema: z.record(z.string(), z.unknown()).optional(),
  forced_tools: z.array(z.string()).optional(),
  budget: z
    .object({
      max_cost_usd: z.number().nullable(),
      max_tokens: z.int().nullable(),
      max_seconds: z.number().nullable(),
      on_exhausted: z.enum(['wait', 'halt']),
    })
    .nullable(),
});

const ToolSpec = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()),
  effect: z.enum(TOOL_EFFECTS),
  origin: z
    .object({ tool: z.string(), names: z.array(z.string()) })
    .optional()
    .meta({
      description: 'What the tool is, whatever it is called, and the names by which an agent can guard it',
    }),
});

const BundledMessage = z.object({
  step: z.int(),
  position: z.int(),
  role: z.enum(['user', 'assistant', 'tool', 'system']),
  kind: z.enum([
    'prompt',
    'steer',
    'reply',
    'partial',
    'result',
    'denial',
    'reminder',
    'repair',
    'invalid',
    'summary',
    'context',
    'withheld',
  ]),
  content: z.string(),
  tool_calls: z.array(z.object({ call_id: z.string(), name: z.string(), arguments: z.string() })).nullable(),
  call_id: z.string().nullable(),
  extra: z.unknown(),
  /** The step that was in progress when the message was written. */
  told_at: z.int(),
});

const BundledCall = ToolCallRecord.pick({
  call_id: true,
  name: true,
  arguments: true,
  effect: true,
  approval: true,
  status: true,
  attempts: true,
  errors: true,
  failed: true,
  result: true,
  answered_by: true,
  duration_ms: true,
}).extend({ position: z.int() });

const BundledStep = z.object({
  step: z.int(),
  copied: z.boolean(),
  model: z.string().nullable(),
  provider_id: z.string().nullable().optional(),
  provider_name: z.string().nullable().optional(),
  fallback: z.int().optional(),
  attempts: z.int(),
  errors: z.int(),
  error: z.string().nullable(),
  finish: z.string().nullable(),
  usage: UsageCounts.omit({ premium_requests: true }),
  started_at: Timestamp,
  ended_at: Timestamp.nullable(),
  input: z.object({ digest: z.string(), messages: z.int() }).nullable().meta({
    description: 'SHA-256 of everything the loop sends the model at this step, and the number of messages',
  }),
  output: z.string().nullable(),
  guardrails: z.array(z.object({ guardrail: z.string(), action: z.string(), reasons: z.array(z.string()) })),
  budget_exhausted: z.boolean(),
  tool_calls: z.array(BundledCall),
});

const EarlierMessage = BundledMessage.omit({ told_at: true }).extend({
  turn: z.int(),
  attachments: z.array(Attachment).nullable(),
  provider_id: Id.nullable(),
  model: z.string().nullable(),
});

export const RunBundle = z
  .object({
    format: z.literal('perdura-run'),
    version: z.literal(1),
    perdura_version: z.string(),
    task: z.object({
      id: Id,
      workflow_id: Id,
      trigger: z.string(),
      prompt: z.string(),
      attachments: z.array(Attachment).optional().meta({ description: 'Without their content' }),
      forked_from: ForkedFrom.nullable(),
      thread_turn: z.int().nullable().optional().meta({ description: 'Its number among the turns of a conversation' }),
      budget: BundledDefinition.shape.budget,
      created_at: Timestamp,
      started_at: Timestamp.nullable(),
      completed_at: Timestamp.nullable(),
    }),
    definition: BundledDefinition,
    runtime: z.object({
      context_window: z.int(),
      fallback_windows: z.array(z.int()).optional().meta({ description: 'Those of the fallbacks, in their order' }),
      keeps_context: z.boolean().meta({ description: 'The conversation is kept by the vendor, so nothing is compacted' }),
    }),
    tools: z.array(ToolSpec).meta({ description: 'As they were offered to the model' }),
    hosted_tools: z
      .array(z.looseObject({ type: z.string(), name: z.string() }))
      .optional()
      .meta({ description: 'Tools that the provider itself runs, as it is sent them' }),
    steps: z.array(BundledStep),
    transcript: z.array(BundledMessage),
    earlier: z
      .array(EarlierMessage)
      .optional()
      .meta({ description: 'What its model read of the turns before, at the beginning' }),
    end: z.object({
      status: z.string(),
      response: z.unknown(),
      error: z.string().nullable(),
      error_code: z.string().nullable(),
      turns: z.int(),
      steps: z.int(),
      turn_limit_reached: z.boolean(),
      usage: UsageCounts,
    }),
  })
  .meta({ id: 'RunBundle', description: 'A run with everything that `perdura replay` needs, and no secret' });
export type RunBundle = z.output<typeof RunBundle>;

export const runBundles = {
  get: endpoint('GET /api/tasks/{id}/bundle', {
    operation: 'get_task_bundle',
    audited: true,
    tag: 'Tasks',
    summary: 'A whole run as one document',
    description:
      'The pinned definition, the input and reply of each step, every tool call with its result, and how the run ended: everything that ' +
      '`perdura replay` needs to run it again offline. It holds no secret: addresses, connection configurations and source code are ' +
      'left out, and values of stored tokens are redacted everywhere.',
    params: IdParams,
    reply: RunBundle,
    refuses: [403],
  }),
};
