import { type Client, type Connection, ScheduleAlreadyRunning } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from './names.ts';
import type { reconcileTasks } from './workflows/reconcile.ts';

interface HousekeepingOptions {
  client: Client;
  task_queue: string;
  /** Seconds between two comparisons of tasks with the engine. */
  every_seconds: number;
}

/** Prepares the engine for a worker: registers the search attributes of runs, and the schedule that compares tasks with runs. */
export async function prepareEngine(options: HousekeepingOptions): Promise<void> {
  await registerSearchAttributes(options.client);
  await keepReconciling(options);
  // This worker may be the first one after a crash.
  await options.client.schedule.getHandle(reconcilerScheduleId(options.task_queue)).trigger();
}

/** The engine's number for an attribute that is compared as a whole. */
const KEYWORD = 2;

/** The attributes that the namespace lacks. If the account may not add them, its operator has to. */
async function registerSearchAttributes({ connection, options: { namespace } }: Client): Promise<void> {
  const { operatorService } = connection as Connection | NativeConnection;
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing = SEARCH_ATTRIBUTES.filter((name) => !(name in customAttributes));
  if (missing.length === 0) return;
  await operatorService.addSearchAttributes({
    namespace,
    searchAttributes: Object.fromEntries(missing.map((name) => [name, KEYWORD])),
  });
}

const reconcilerScheduleId = (task_queue: string) => `reconcile-${task_queue}`;

/** Created by the first worker; later ones only update its interval. */
async function keepReconciling({ client, task_queue, every_seconds }: HousekeepingOptions): Promise<void> {
  const spec = { intervals: [{ every: every_seconds * 1000 }] };
  const action = {
    type: 'startWorkflow' as const,
    workflowType: 'reconcileTasks' as const,
    workflowId: reconcilerScheduleId(task_queue),
    taskQueue: task_queue,
    args: [] as [],
    workflowExecutionTimeout: '15 minutes' as const,
  };
  const policies = { overlap: 'SKIP' as const, catchupWindow: '1 minute' as const };
  try {
    await client.schedule.create<typeof reconcileTasks>({ scheduleId: reconcilerScheduleId(task_queue), spec, action, policies });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const schedule = client.schedule.getHandle(reconcilerScheduleId(task_queue));
    const { spec: known } = await schedule.describe();
    if (known.intervals?.[0]?.every === every_seconds * 1000) return;
    await schedule.update<typeof reconcileTasks>(({ state }) => ({ spec, action, policies, state }));
  }
}
