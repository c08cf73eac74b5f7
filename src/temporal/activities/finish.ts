import type { Settled } from '../../store/runs/settlement.ts';
import { type FinalState, type PassedCalls, TASK_ENDED } from '../names.ts';
import type { Settle } from '../start/settle.ts';

export interface FinishPorts {
  settle: Settle;
  /**
   * Marks a run whose record still has calls open that ended in its execution: Perdura cannot claim that such a call was never
   * made.
   */
  doubtCalls(task_id: string, passed: PassedCalls): Promise<unknown>;
  /** Parks the run, because its final answer is not on record. */
  parkEnd(task_id: string): Promise<unknown>;
  /**
   * Starts the run of a task that was begun for a message which the ended run has not read; does nothing for other tasks. Never throws:
   * the reconciler starts what cannot be started now.
   */
  startHandedOver(task_id: string): Promise<void>;
  /** Stops other activities of the task that are still running. */
  halt(task_id: string): void;
  workspaces: { remove(task_id: string): Promise<void> };
  /**
   * Ends the session at the run's model provider. Never throws: if the session cannot be ended now, the reconciler ends it later.
   */
  endSession(task_id: string, definition_hash: string): Promise<void>;
}

/** The task that holds the lane now, and the webhook delivery to send. `behind`: the run waits, because its record is behind. */
type Finished = Pick<Settled, 'next' | 'webhook'> & { behind?: true };

export const finishActivity =
  ({ settle, doubtCalls, parkEnd, startHandedOver, halt, workspaces, endSession }: FinishPorts) =>
  async (task_id: string, end: FinalState): Promise<Finished> => {
    // The task was settled when it ended. If the record lacks this only temporarily, nothing may be written into it.
    if (end.error_code === TASK_ENDED) return { next: null, webhook: null };
    if (end.status !== 'completed' && end.passed) await doubtCalls(task_id, end.passed);
    const { next, webhook, definition_hash, unanswered } = await settle(task_id, end);
    if (unanswered) {
      await parkEnd(task_id);
      return { next, webhook, behind: true };
    }
    if (next) await startHandedOver(next);
    if (end.status === 'failed') halt(task_id);
    await Promise.all([workspaces.remove(task_id), ...(definition_hash ? [endSession(task_id, definition_hash)] : [])]);
    return { next, webhook };
  };
