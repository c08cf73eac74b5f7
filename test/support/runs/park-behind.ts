import { toRunId } from '../../../src/temporal/names.ts';
import { behindEvents } from '../../../src/temporal/start/continuity.ts';
import type { TestInstallation } from '../installation.ts';

/** Parks a run in progress as if its record lacked its second step. */
export async function parkBehind(
  { core, driver }: TestInstallation,
  place: { task_id: string; workflow_id: string },
): Promise<void> {
  const { runId: run_id } = await driver.client.workflow.getHandle(toRunId(place.task_id)).describe();
  const missing = 'step 2';
  const events = behindEvents(place.task_id, { missing, turns: 0, now: () => new Date().toISOString() });
  await core.store.continuity.park(place, { run_id, missing, events });
}
