import type { Store } from '../../store/index.ts';
import type { TaskInQueue } from '../../store/runs/tasks.ts';
import type { Engine } from '../client/engine.ts';
import type { Settle } from './settle.ts';

/** The reasons why a task that waits for its lane ends without having run. */
const UNRUN = {
  workflow_inactive: 'The workflow was switched off before this run began; switch it on and send the prompt again',
  superseded: 'A newer prompt with on_busy interrupt took its place before this run began',
} as const;

interface QueuePorts {
  store: { tasks: Pick<Store['tasks'], 'listQueued' | 'listSuperseded' | 'takeLanes'> };
  engine: Engine;
  settle: Settle;
}

/** The number of tasks that a request ends itself. The reconciler ends the rest of a longer queue. */
const AT_ONCE = 200;

/** Ends a task that has not begun; does nothing if it has. */
export async function endUnrun(
  { engine, settle }: Pick<QueuePorts, 'engine' | 'settle'>,
  { task_id, principal }: TaskInQueue,
  code: keyof typeof UNRUN,
): Promise<void> {
  const end = { status: 'halted', error: UNRUN[code], error_code: code, turns: 0 } as const;
  const { next, webhook, ended } = await settle(task_id, end, { only_pending: true });
  if (!ended) return;
  if (webhook) await engine.deliver({ id: webhook, owner: principal });
  if (next) await engine.proceed(next);
  await engine.halt(task_id);
}

/** Handles the tasks that wait for a workflow's lane when the workflow is switched off or on, or interrupted more than once. */
export function laneQueue({ store, ...ports }: QueuePorts) {
  const end = async (tasks: TaskInQueue[], code: keyof typeof UNRUN) => {
    for (const task of tasks) await endUnrun(ports, task, code);
  };
  return {
    /** Ends every task that has not begun. */
    endQueue: async (workflow_id: string) => end(await store.tasks.listQueued(workflow_id, AT_ONCE), 'workflow_inactive'),
    /** Ends the interrupting tasks that a newer one follows. */
    endSuperseded: async (workflow_id: string) => end(await store.tasks.listSuperseded(workflow_id), 'superseded'),
    /** Starts the next tasks of a workflow that was switched on again. */
    async resumeQueue(workflow_id: string): Promise<void> {
      for (const next of await store.tasks.takeLanes(workflow_id)) await ports.engine.proceed(next);
    },
  };
}
