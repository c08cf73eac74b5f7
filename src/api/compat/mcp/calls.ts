import { createHash } from 'node:crypto';
import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../../identity/caller.ts';
import { type CompatRun, type CompatServices, hasEnded, type RunOrder, startRun } from '../runs.ts';

/** Identifies a client's call: JSON-RPC ids are unique only within a session. */
export interface McpCallPlace {
  session_id: string;
  request_id: string | number;
  caller: Caller;
}

/**
 * Maps calls to their runs, for every API process: a cancellation arrives in another request than the call, and a client that
 * lost its connection may repeat the call to rejoin its run.
 */
export function createMcpCalls(services: CompatServices) {
  const { idempotency, tasks } = services.store;
  return {
    /** Starts the run of a call, once. Without a session the call cannot be found again. */
    async begin(place: McpCallPlace | null, order: RunOrder, caller: Caller): Promise<CompatRun> {
      if (!place) return startRun(services, order, caller);
      const key = toIdempotencyKey(place);
      const claim = await idempotency.claim(key, digest([order.model, order.prompt]));
      if (claim.kind === 'replay') return claim.reply as CompatRun;
      if (claim.kind !== 'new') throw new AppError('conflict', 'This session has already used this request id; send a new id');
      try {
        const run = await startRun(services, { ...order, task_id: claim.reserved_id, claim: claim.claim }, caller);
        if ((await idempotency.keep(key, run)).kind === 'withdrawn') await services.dispatch.halt(run.task_id);
        return run;
      } catch (error) {
        await idempotency.failed(key, error, claim);
        throw error;
      }
    },
    /** Halts the run of a call that its client cancelled. */
    async cancel(place: McpCallPlace): Promise<void> {
      const key = toIdempotencyKey(place);
      const task_id = await idempotency.reserved(key);
      // If the run is still being started, the request that starts it sees the cancellation and halts it.
      if (!task_id || (await idempotency.withdraw(key))) return;
      const task = await tasks.find(task_id);
      if (task && !hasEnded(task)) await services.dispatch.halt(task.id);
    },
  };
}

const toIdempotencyKey = ({ session_id, request_id, caller }: McpCallPlace) => ({
  principal: caller.key,
  key: `mcp ${digest([session_id, request_id])}`,
});

const digest = (parts: unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
