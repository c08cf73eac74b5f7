import { readFileSync } from 'node:fs';
import { Client, type Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import { v7 as uuid } from 'uuid';
import { afterEach, expect, inject, it } from 'vitest';
import { lazyConnection } from '../../src/temporal/client/client-connection.ts';
import { startTestInstallation } from '../support/installation.ts';
import { labelsOf } from '../support/machine/left-behind.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { says } from '../support/peers/model-server.ts';
import { startReceiver } from '../support/peers/receiver.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const held = <T>(it: T, end: (it: T) => unknown): T => {
  endings.push(() => end(it));
  return it;
};

const INDEX = new URL('../../src/temporal/workflows/index.ts', import.meta.url);
const WORKFLOWS = [...readFileSync(INDEX, 'utf8').matchAll(/export \{ (\w+) \}/g)].map(([, name]) => name as string);

it('every workflow gets a lost task again after 4 seconds, in whatever way it starts', { timeout: 60_000 }, async () => {
  const receiver = held(await startReceiver(), (it) => it.stop());
  const here = held(await startTestInstallation(), (it) => it.stop());
  const { client, engine } = here.driver;
  here.model.always(says('Done.'));
  const workflow_id = await here.workflow({ workflow: { webhook_url: receiver.url } });
  const task_id = await here.prompt(workflow_id);
  await here.ended(task_id);
  await engine.restart({ task_id, max_turns: 1, queued: false }, labelsOf(workflow_id));
  const deliveries = await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/webhooks`));
  await engine.deliver({ id: deliveries[0].id, owner: 'alice' }, { restart: true });
  const start_at = new Date(Date.now() + 3_600_000).toISOString();
  const cadence = { prompt: 'Report.', interval_value: 1, interval_unit: 'hours', start_at };
  const made = await here.alice.ok(here.alice.post('/api/scheduled-agents', { name: 'hourly', workflow_id, ...cadence }), 201);
  await client.schedule.getHandle(`schedule-${made.id}`).trigger();
  const { dataset, begin, ended } = openEvaluations(here);
  await ended(await begin(await dataset({ x: 'Done.' }), { workflow_id }));

  const timeouts = async () => {
    const found: string[] = [];
    const query = `TaskQueue = '${here.setting.config.TEMPORAL_TASK_QUEUE}'`;
    for await (const { workflowId, runId, type } of client.workflow.list({ query })) {
      const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
      found.push(`${type} ${tsToMs(events?.[0]?.workflowExecutionStartedEventAttributes?.workflowTaskTimeout)}`);
    }
    // The restarted run and delivery, and the runs of the schedule and the evaluation.
    return found.length >= WORKFLOWS.length + 4 && found;
  };
  const found = await until('the index has all executions', timeouts);
  expect([...new Set(found)].sort()).toEqual(WORKFLOWS.map((name) => `${name} 4000`).sort());
});

/** Requests for work on the silent connection. */
const LOST = 50;

it('the embedded engine gives no work to a connection that is silent', { timeout: 120_000 }, async () => {
  const proxy = held(await startDroppingProxy(`http://${inject('temporal_address')}`), (it) => it.stop());
  const open = (address: string) => held(lazyConnection({ address }), (it) => it.close());
  const [cut, good] = [open(new URL(proxy.url).host), open(inject('temporal_address'))];
  const client = new Client({ connection: good });
  const taskQueue = `silent-${uuid()}`;
  const poll = (connection: Connection, identity: string, limit_ms: number) =>
    connection.withDeadline(Date.now() + limit_ms, () =>
      connection.workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue }, identity }),
    );
  // Each may take one task with it.
  for (let made = 0; made < LOST; made += 1) poll(cut, `cut ${made}`, 60_000).catch(() => {});
  const { workflowService } = client;
  const asked = { namespace: 'default', taskQueue: { name: taskQueue }, taskQueueType: 1 };
  await until('the requests for work', async () => (await workflowService.describeTaskQueue(asked)).pollers?.length === LOST);
  proxy.silence();

  const isGiven = async () => {
    const options = { taskQueue, workflowId: uuid(), workflowTaskTimeout: '1 minute' as const };
    const run = await client.workflow.start('never', options);
    const task = await poll(good, 'good', 3_000).catch(() => null);
    await run.terminate();
    return task?.workflowExecution?.workflowId === options.workflowId;
  };
  expect(await until('work for the other connection', isGiven)).toBe(true);
});
