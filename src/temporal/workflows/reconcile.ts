import { proxyActivities } from '@temporalio/workflow';
import type { RunActivities } from '../activities/index.ts';
import type { ReconciledTasks } from '../activities/reconciled-tasks.ts';

const { reconcile } = proxyActivities<Pick<RunActivities, 'reconcile'>>({
  startToCloseTimeout: '10 minutes',
  // A comparison whose worker is lost must not block the next one.
  heartbeatTimeout: '10s',
  // The next comparison is due soon anyway.
  retry: { maximumAttempts: 1 },
});

/** Compares tasks with the engine. A schedule starts it; its result lists the repairs. */
export const reconcileTasks = (): Promise<ReconciledTasks> => reconcile();
