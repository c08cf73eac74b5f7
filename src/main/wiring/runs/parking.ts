import { activityInfo } from '@temporalio/activity';
import { ANSWER } from '../../../domain/continuity.ts';
import type { ParkBehind } from '../../../temporal/activities/continuity.ts';
import { behindEvents } from '../../../temporal/start/continuity.ts';
import type { SharedServices } from '../../core.ts';

const now = () => new Date().toISOString();

/** Parks the run of the activity that calls it. */
export const parkBehind =
  ({ store }: Pick<SharedServices, 'store'>): ParkBehind =>
  ({ turns, ...task }, missing) => {
    const run_id = activityInfo().workflowExecution!.runId;
    return store.continuity.park(task, { run_id, missing, events: behindEvents(task.task_id, { missing, turns, now }) });
  };

/** Parks a run whose final answer is not on record. */
export const parkEnd = (core: Pick<SharedServices, 'store'>) => async (task_id: string) => {
  const task = await core.store.tasks.find(task_id);
  if (task) await parkBehind(core)({ ...task, task_id }, ANSWER);
};
