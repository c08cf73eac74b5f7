import { createHash } from 'node:crypto';
import { AppError } from '../../../domain/errors.ts';
import type { Caller } from '../../auth.ts';
import { type CompatRun, type CompatServices, hasEnded, type RunOrder, startRun } from '../runs.ts';

/** A call by a client: JSON-RPC ids are unique within a session only. */
export interface McpCallPlace {
  session_id: string;
  request_id: string | number;
  caller: Caller;
}

/**
 * Where the runs of calls are found again, by any API process: a cancellation comes with another request than the call, and a
 * client that lost its connection may repeat the call to take its run up.
 */
export function mcpCalls(services: CompatServices) {
  const { idempotency, tasks } = services.store;
  return {
    /** The run of a call, started once. A call without a session cannot be found again. */
    async begin(place: McpCallPlace | null, order: RunOrder, caller: Caller): Promise<CompatRun> {
      if (!place) return startRun(services, order, caller);
      const key = keyOf(place);
      const claim = await idempotency.claim(key, digest([order.model, order.prompt]));
      if (claim.kind === 'replay') return claim.reply as CompatRun;
      if (claim.kind !== 'new') throw new AppError('conflict', 'A request with this id was made before in this session');
      try {
        const run = await startRun(services, { ...order, task_id: claim.reserved_id }, caller);
        if ((await idempotency.keep(key, run)).kind === 'withdrawn') await services.dispatch.halt(run.task_id);
        return run;
      } catch (error) {
        await idempotency.failed(key, error);
        throw error;
      }
    },
    /** Halts the run of a call that its client has no more use for. */
    async cancel(place: McpCallPlace): Promise<void> {
      const key = keyOf(place);
      const task_id = await idempotency.reserved(key);
      // Who is starting the run finds that it was withdrawn, and halts it.
      if (!task_id || (await idempotency.withdraw(key))) return;
      const task = await tasks.find(task_id);
      if (task && !hasEnded(task)) await services.dispatch.halt(task.id);
    },
  };
}

const keyOf = ({ session_id, request_id, caller }: McpCallPlace) => ({
  principal: caller.key,
  key: `mcp ${digest([session_id, request_id])}`,
});

const digest = (parts: unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
