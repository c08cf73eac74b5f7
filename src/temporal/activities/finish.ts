import type { Settled } from '../../store/runs.ts';
import type { FinalState } from '../names.ts';
import type { Settle } from '../settle.ts';

export interface FinishPorts {
  settle: Settle;
  /** Stops other activities of the task that are still running. */
  halt(task_id: string): void;
  workspaces: { remove(task_id: string): Promise<void> };
  /** Ends the session at the run's model provider. Never fails: if it cannot be ended now, the reconciler ends it later. */
  endSession(task_id: string, definition_hash: string): Promise<void>;
}

export const finishActivity =
  ({ settle, halt, workspaces, endSession }: FinishPorts) =>
  async (task_id: string, end: FinalState): Promise<Pick<Settled, 'next' | 'webhook'>> => {
    const { next, webhook, definition_hash } = await settle(task_id, end);
    if (end.status === 'failed') halt(task_id);
    await Promise.all([workspaces.remove(task_id), ...(definition_hash ? [endSession(task_id, definition_hash)] : [])]);
    return { next, webhook };
  };
