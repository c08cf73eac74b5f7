import type { Settled } from '../../store/runs.ts';
import type { FinalState } from '../names.ts';
import type { Settle } from '../settle.ts';

export interface FinishPorts {
  settle: Settle;
  /** Breaks off what other activities of the task still do. */
  halt(task_id: string): Promise<void>;
  workspaces: { remove(task_id: string): Promise<void> };
}

export const finishActivity =
  ({ settle, halt, workspaces }: FinishPorts) =>
  async (task_id: string, end: FinalState): Promise<Settled> => {
    const settled = await settle(task_id, end);
    if (end.status === 'failed') await halt(task_id);
    await workspaces.remove(task_id);
    return settled;
  };
