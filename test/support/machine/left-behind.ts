import { v7 as uuid } from 'uuid';
import type { NewTask } from '../../../src/store/runs/new-task.ts';
import { pinDefinition } from '../../../src/store/runs/pin.ts';
import { type RunInput, toRunId } from '../../../src/temporal/names.ts';
import type { TestInstallation } from '../installation.ts';

/** Creates a task that is recorded but unknown to the engine, as if the server had died in between. */
export async function leftBehind({ core }: TestInstallation, workflow_id: string, more: Partial<NewTask> = {}): Promise<string> {
  const snapshot = (await core.store.snapshot(workflow_id))!;
  const { owner, owner_login } = snapshot.workflow;
  const task = {
    task_id: uuid(),
    workflow_id,
    owner,
    owner_login,
    prompt: 'Left behind.',
    definition: pinDefinition(snapshot),
  };
  await core.store.tasks.create({ ...task, on_busy: 'enqueue', trigger: 'prompt', caller_token: null, ...more });
  return task.task_id;
}

/** Returns the engine's labels of a run that a test starts by itself. */
export const labelsOf = (workflow_id: string) => ({
  ...{ owner: 'alice', principal: 'alice', trigger: 'prompt', agent: 'test', workflow: 'test', model: null },
  workflow_id,
});

/** Starts the run of such a task; its history continues as new after so many rounds. */
export async function startRenewing(
  { driver }: TestInstallation,
  task_id: string,
  run: Required<Pick<RunInput, 'max_turns' | 'renew_after'>> & Pick<RunInput, 'auto_memory'>,
) {
  await driver.engine.start({ task_id, queued: false, ...run }, labelsOf('test'));
}

/** Returns the input of each execution of a run, the latest first; `run_id` names one to begin with. */
export async function listRunInputs(here: TestInstallation, task_id: string, run_id?: string): Promise<RunInput[]> {
  const { events } = await here.driver.client.workflow.getHandle(toRunId(task_id), run_id).fetchHistory();
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  const input = JSON.parse(Buffer.from(started?.input?.payloads?.[0]?.data ?? []).toString());
  const earlier = started?.continuedExecutionRunId;
  return [input, ...(earlier ? await listRunInputs(here, task_id, earlier) : [])];
}
