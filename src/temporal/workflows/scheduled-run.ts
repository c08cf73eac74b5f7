import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { RunActivities } from '../activities/index.ts';

const { fire } = proxyActivities<Pick<RunActivities, 'fire'>>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1s', maximumInterval: '30s' },
});

const { failFire } = proxyActivities<Pick<RunActivities, 'failFire'>>({ startToCloseTimeout: '30s' });

/** Serves one due time of a schedule: creates its task, or records why there is none. The task then has its own run. */
export async function scheduledRun(schedule_id: string): Promise<void> {
  const { searchAttributes, startTime } = workflowInfo();
  const [planned_start] = (searchAttributes.TemporalScheduledStartTime ?? []) as Date[];
  const due_at = (planned_start ?? startTime).toISOString();
  try {
    await fire(schedule_id, due_at);
  } catch (error) {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    await failFire(schedule_id, due_at, cause instanceof Error ? cause.message : String(cause));
    throw error;
  }
}
