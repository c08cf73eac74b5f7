import { z } from 'zod';
import { Timestamp } from './common.ts';

const LOG_EVENTS = [
  'prompt_received',
  'forked',
  'run_started',
  'context_built',
  'model_call',
  'model_response',
  'tool_call',
  'tool_result',
  'tool_denied',
  'goal_reminder',
  'approval_requested',
  'approval_decided',
  'reconciliation_requested',
  'reconciliation_decided',
  'client_call_requested',
  'client_call_answered',
  'question_asked',
  'question_answered',
  'record_behind',
  'continuity_decided',
  'retry',
  'attempt_reset',
  'rate_limited',
  'compaction',
  'memory_loaded',
  'memory_stored',
  'knowledge_loaded',
  'mcp_connected',
  'mcp_error',
  'repo_synced',
  'guardrail_blocked',
  'output_guardrail_violation',
  'output_rejected',
  'progress',
  'budget_exhausted',
  'halted',
  'completed',
  'error',
  'tools_not_offered',
  'stream_reset',
] as const;

const at = { timestamp: Timestamp };

const LogEvent = z.object({
  type: z.literal('log'),
  data: z.looseObject({ event: z.string().meta({ description: `One of ${LOG_EVENTS.join(', ')}` }), detail: z.string() }),
  ...at,
});
const MessageEvent = z.object({
  type: z.literal('message'),
  data: z.looseObject({ role: z.string(), content: z.string() }),
  ...at,
});
const DeltaEvent = z.object({ type: z.literal('message_delta'), data: z.looseObject({ delta: z.string() }), ...at });
const UsageEvent = z.object({
  type: z.literal('usage'),
  data: z.looseObject({
    total_in: z.int(),
    total_out: z.int(),
    estimated: z.boolean().optional().meta({ description: 'True: a part was not reported by the endpoint and is an estimate' }),
    total_input_tokens: z.int().optional().meta({ description: 'The same as total_in' }),
    total_output_tokens: z.int().optional(),
    total_cost: z.number().optional().meta({ description: 'The same as cost' }),
    total_premium_requests: z.int().optional(),
    cost: z.number(),
    cache_read: z.int(),
    cache_write: z.int(),
    premium_requests: z.int(),
  }),
  ...at,
});
const StatusEvent = z.object({
  type: z.literal('status'),
  data: z.looseObject({ status: z.string(), current_turn: z.int(), task_id: z.string() }),
  ...at,
});

/** One frame of a workflow's event stream. */
export const RunEvent = z.discriminatedUnion('type', [LogEvent, MessageEvent, DeltaEvent, UsageEvent, StatusEvent]).meta({
  id: 'RunEvent',
  description: 'The `data` line of a frame; the `id` line holds its number, which increases within a workflow',
});
export type RunEvent = z.output<typeof RunEvent>;
