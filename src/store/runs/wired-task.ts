import type { ForkedFrom } from '../../contracts/forks.ts';
import type { Task } from '../../contracts/tasks.ts';
import type { AttachedFile } from '../../domain/attachments.ts';
import type { PromptParts } from '../../domain/conversation.ts';
import { toShownCost } from '../../domain/usage.ts';
import type { Task as Row } from '../../generated/prisma/client.ts';
import { wireAs } from '../database/page.ts';

export type WiredTask = ReturnType<typeof toWireTask>;

/** A task as the API shows it. */
export function toWireTask(task: Row) {
  const { total_in, total_out, cache_read, cache_write, premium_requests, cost, started_at, completed_at, created_at, ...rest } =
    task;
  const { caller_token: _token, caller_key_id: _key, cursor: _cursor, toolset: _toolset, forked_from, ...more } = rest;
  const {
    fork_step,
    fork_effects,
    halt_requested: _halting,
    lane_number: _place,
    beside_lane: _beside,
    behind_run_id: _run,
    ...seen
  } = more;
  const {
    usage_estimated: estimated,
    continuity: _decision,
    prompt_parts,
    attachments,
    conversation_id,
    unpriced_models,
    ...shown
  } = seen;
  const end = completed_at ?? (started_at ? new Date() : null);
  return {
    ...wireAs<Omit<Task, 'reasoning_effort' | 'tool_calls'>>()(shown),
    tool_calls: task.turns,
    unpriced_models,
    prompt_parts: prompt_parts as PromptParts | null,
    conversation_id,
    attachments: (attachments ?? []) as unknown as AttachedFile[],
    forked_from: forked_from ? ({ task_id: forked_from, step: fork_step, effects: fork_effects } as ForkedFrom) : null,
    usage: {
      total_in,
      total_out,
      cost: toShownCost(cost, unpriced_models.length > 0),
      priced: unpriced_models.length === 0,
      cache_read,
      cache_write,
      premium_requests,
      estimated,
    },
    created_at: created_at.toISOString(),
    started_at: started_at?.toISOString() ?? null,
    completed_at: completed_at?.toISOString() ?? null,
    elapsed_seconds: started_at && end ? Math.max(0, end.getTime() - started_at.getTime()) / 1000 : null,
  };
}
