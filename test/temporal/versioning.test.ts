import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toRunId } from '../../src/temporal/names.ts';
import { DEPLOYMENT } from '../../src/temporal/worker/worker.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const workers: Child[] = [];
beforeAll(async () => {
  here = await startTestInstallation({ worker: false });
});
afterAll(async () => {
  for (const worker of workers) await worker.end('SIGTERM');
  await here.stop();
});

async function startRelease(build_id: string): Promise<Child> {
  const worker = await startWorkerProcess(here.setting, { WORKER_BUILD_ID: build_id });
  workers.push(worker);
  return worker;
}

/** What `temporal worker deployment set-current-version` does; the engine learns of a version when its worker asks for work. */
async function makeCurrent(build_id: string): Promise<void> {
  const { workflowService, options } = here.driver.client;
  const request = { namespace: options.namespace, deploymentName: DEPLOYMENT, buildId: build_id, ignoreMissingTaskQueues: true };
  await until(`${build_id} is current`, () =>
    workflowService.setWorkerDeploymentCurrentVersion({ ...request, version: `${DEPLOYMENT}.${build_id}` }).then(
      () => true,
      () => false,
    ),
  );
}

/** The releases that took steps of a run. */
async function releasesOf(task_id: string): Promise<string[]> {
  const { events } = await here.driver.client.workflow.getHandle(toRunId(task_id)).fetchHistory();
  const done = events?.flatMap(({ workflowTaskCompletedEventAttributes: it }) =>
    it ? [it.deploymentVersion?.buildId ?? ''] : [],
  );
  return [...new Set(done)];
}

const waiting = async (task_id: string) => (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}`))).status === 'waiting';

it('keeps a run with workers of the release that it began on, and gives new ones to the current release', async () => {
  const builtin_tools = ['manage_todo_list'];
  const ask = asks({ name: 'manage_todo_list', args: { todoList: [] } });
  const [old, current] = [`old-${randomBytes(3).toString('hex')}`, `new-${randomBytes(3).toString('hex')}`];
  const first = await startRelease(old);
  await makeCurrent(old);
  here.model.script(ask);
  const begun = await here.prompt(await here.workflow({ agent: { builtin_tools, approval_tools: builtin_tools } }));
  await until('it waits', () => waiting(begun));

  await startRelease(current);
  await makeCurrent(current);
  here.model.script(says('By the new one.'));
  const fresh = await here.prompt(await here.workflow());
  expect(await here.ended(fresh)).toMatchObject({ status: 'completed' });
  expect(await releasesOf(fresh)).toEqual([current]);

  expect(await first.end('SIGTERM')).toBe(0);
  workers.splice(workers.indexOf(first), 1);
  await here.alice.ok(here.alice.post(`/api/tasks/${begun}/approvals/1-1`, { decision: 'approve' }));
  await wait(3_000);
  expect(await waiting(begun)).toBe(true);
  here.model.script(says('By the old one.'));
  await startRelease(old);
  expect(await here.ended(begun, 40_000)).toMatchObject({ status: 'completed', response: 'By the old one.' });
  expect(await releasesOf(begun)).toEqual([old]);
}, 120_000);
