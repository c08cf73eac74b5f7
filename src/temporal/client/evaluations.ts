import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Store } from '../../store/index.ts';
import { toEvaluationId, WORKFLOW_TASK_TIMEOUT } from '../names.ts';
import type { evaluation } from '../workflows/evaluation.ts';
import { withCallDeadline } from './engine.ts';
import { evaluationPriority } from './priority.ts';

/** The engine's executions of evaluations. If the engine is unreachable, every call throws `unavailable`. */
export interface Evaluations {
  /** Starts an evaluation, or continues one from its record; does nothing if it is running. */
  start(started: { id: string; owner: string }): Promise<void>;
  /** Asks an evaluation to end with its runs. Returns false if the engine has none. */
  halt(id: string): Promise<boolean>;
}

export function createEvaluations(client: Client, task_queue: string): Evaluations {
  const soon = withCallDeadline(client);
  return {
    async start({ id, owner }) {
      const options = {
        workflowId: toEvaluationId(id),
        taskQueue: task_queue,
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT,
        priority: evaluationPriority(owner),
      };
      const once = { ...options, workflowIdConflictPolicy: 'USE_EXISTING' as const, args: [id] as [string] };
      await soon(() => client.workflow.start<typeof evaluation>('evaluation', once));
    },
    halt: (id) =>
      soon(async () => {
        try {
          await client.workflow.getHandle(toEvaluationId(id)).cancel();
          return true;
        } catch (error) {
          if (error instanceof WorkflowNotFoundError) return false;
          throw error;
        }
      }),
  };
}

/** Continues evaluations that are running on record but unknown to the engine: the record is authoritative. */
export async function reconcileEvaluations({ evaluations }: Pick<Store, 'evaluations'>, engine: Evaluations): Promise<void> {
  for (const { id, created_by: owner } of await evaluations.running()) await engine.start({ id, owner });
}
