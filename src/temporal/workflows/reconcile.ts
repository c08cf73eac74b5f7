import { proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../activities/index.ts';
import type { ReconciledTasks } from '../reconcile-tasks.ts';

const { reconcile } = proxyActivities<Pick<RunActivities, 'reconcile'>>({
  startToCloseTimeout: '10 minutes',
  // A comparison whose worker is lost must not keep the next one waiting.
  heartbeatTimeout: '10s',
  // The next one is due soon anyway.
  retry: { maximumAttempts: 1 },
});

/** Fired by a schedule; what it put right can be read as its result. */
export const reconcileTasks = (): Promise<ReconciledTasks> => reconcile();
