import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: { RECONCILE_SECONDS: '86400' } });
});
afterAll(() => here?.stop());

const execution = (task_id: string) => here.driver.client.workflow.getHandle(`task-${task_id}`);
const shownNow = async (task_id: string) => (await execution(task_id).describe()).searchAttributes.PerduraStatus?.[0] ?? null;
const shows = (task_id: string, status: string) =>
  until(`PerduraStatus ${status}`, async () => (await shownNow(task_id)) === status);
const TODO = { name: 'manage_todo_list', args: { todoList: [] } };
const approved = { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] };

async function streaming(workflow_id: string): Promise<string> {
  here.model.script(hangs('Half'));
  const task_id = await here.prompt(workflow_id);
  await here.alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
    enough: ({ type }) => type === 'message_delta',
  });
  return task_id;
}

describe('PerduraStatus of a run', () => {
  it('changes with it: waiting for a person, running again, completed', async () => {
    const goes_on = Promise.withResolvers<void>();
    here.model.script(asks(TODO), says('One moment. Done.', { until: goes_on.promise }));
    const task_id = await here.prompt(await here.workflow({ agent: approved }));
    await shows(task_id, 'waiting');
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
    await shows(task_id, 'running');
    goes_on.resolve();
    await shows(task_id, 'completed');
  });

  it('is running from the start; pending in its lane; halted and failed at the end', async () => {
    const workflow_id = await here.workflow();
    const first = await streaming(workflow_id);
    expect(await shownNow(first)).toBe('running');
    here.model.script(fails(401));
    const second = await here.prompt(workflow_id);
    await shows(second, 'pending');
    await here.alice.ok(here.alice.post(`/api/tasks/${first}/stop`));
    await shows(first, 'halted');
    await shows(second, 'failed');
  });

  it('finds runs, and nothing else that the engine executes', async () => {
    const { client } = here.driver;
    const queue = `TaskQueue = '${here.setting.config.TEMPORAL_TASK_QUEUE}'`;
    const typesOf = async (query: string) => {
      const types = new Set<string>();
      for await (const { type } of client.workflow.list({ query: `${queue} AND ${query}` })) types.add(type);
      return [...types];
    };
    await until('the engine’s index', async () => (await typesOf(`WorkflowType = 'reconcileTasks'`)).length > 0);
    expect(await typesOf('PerduraStatus IS NOT NULL')).toEqual(['agentRun']);
  });
});

it('links each run to its page in the dashboard', async () => {
  here.model.script(says('Done.'));
  const task_id = await here.prompt(await here.workflow());
  const details = await (await execution(task_id).describe()).staticDetails();
  expect(details).toBe(`Task ${task_id} of alice\n\n[Open in Perdura](http://perdura.example/dashboard/tasks/${task_id})`);
  await here.ended(task_id);
});

describe('an execution of a task that has ended', () => {
  /** As "Reset" in the Temporal UI does it, to the first workflow task. */
  async function reset(task_id: string): Promise<string> {
    const { client } = here.driver;
    const { runId } = await execution(task_id).describe();
    const request = {
      namespace: client.options.namespace,
      workflowExecution: { workflowId: `task-${task_id}`, runId },
      reason: 'a person tries it again',
      // Its type demands the 64-bit numbers of protobuf, which reads plain ones, too.
      workflowTaskFinishEventId: 4 as never,
      requestId: `${task_id}-reset`,
    };
    const { runId: again } = (await client.workflowService.resetWorkflowExecution(request)) as { runId: string };
    return again;
  }

  it('that someone resets ends with the reason, and has no status: the task stays as it was', async () => {
    here.model.script(asks(TODO), says('Done.'));
    const task_id = await here.prompt(await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } }));
    const before = await here.ended(task_id);
    await shows(task_id, 'completed');
    const asked = here.model.requests.length;
    const again = await reset(task_id);
    const failure = await here.driver.client.workflow
      .getHandle(`task-${task_id}`, again)
      .result()
      .then(
        () => null,
        (error: Error & { cause?: Error }) => error.cause?.message,
      );
    expect(failure).toBe(
      `The task ${task_id} is completed and a reset does not repeat it, so this execution ends; to run it again from one of its steps, fork it in Perdura`,
    );
    expect(await shownNow(task_id)).toBeNull();
    expect(here.model.requests.length).toBe(asked);
    expect(await here.ended(task_id)).toEqual(before);
  });
});
