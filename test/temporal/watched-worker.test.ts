import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Connection, Client as TemporalClient } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, type WorkflowBundle } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { StackTracingWorker, WatchedWorker } from '../../src/temporal/worker/watched-worker.ts';
import { readSdkLog } from '../support/sdk-log.ts';
import { until } from '../support/until.ts';

const WORKFLOWS = fileURLToPath(new URL('../support/runs/spinning-workflows.ts', import.meta.url));

/** What workflows have logged. */
const logged: string[] = [];
const stopReading = readSdkLog(({ message }) => logged.push(message));

const taskQueue = `spinning-${randomUUID()}`;
const address = inject('temporal_address');
let connection: Connection;
let native: NativeConnection;
let bundle: WorkflowBundle;
let worker: WatchedWorker;
let ended: Promise<void>;
let client: TemporalClient['workflow'];
beforeAll(async () => {
  connection = await Connection.connect({ address });
  native = await NativeConnection.connect({ address });
  client = new TemporalClient({ connection }).workflow;
  bundle = await bundleWorkflowCode({ workflowsPath: WORKFLOWS });
  worker = await WatchedWorker.create({ connection: native, taskQueue, workflowBundle: bundle });
  ended = worker.run();
});
afterAll(async () => {
  stopReading();
  worker.shutdown();
  await ended;
  await native.close();
  await connection.close();
});

const start = (name: string, ...args: unknown[]) => startOn(taskQueue, name, args);

const startOn = (queue: string, name: string, args: unknown[]) =>
  client.start(name, { taskQueue: queue, args, workflowId: `${name}-${randomUUID()}` });

type Handle = Awaited<ReturnType<typeof start>>;

/** Why the first workflow task of an execution failed; the engine records no other. */
const reasonOf = (handle: Handle): Promise<string> =>
  until('a workflow task failed', async () => {
    const { events } = await handle.fetchHistory();
    return events?.map(({ workflowTaskFailedEventAttributes: it }) => it?.failure?.message).find((reason) => reason);
  });

it('a workflow that does not yield stands still alone', { timeout: 60_000 }, async () => {
  const early = await start('sleeps', 2_000);
  const first = await start('spins');
  try {
    expect(await early.result()).toBe('awake');
    expect(await reasonOf(first)).toBe('A workflow did not yield for 5 s');
  } finally {
    await first.terminate();
  }
  const second = await start('spins');
  try {
    expect(await reasonOf(second)).toBe('Script execution timed out after 5000ms');
    expect(await (await start('sleeps', 1)).result()).toBe('awake');
  } finally {
    await second.terminate();
  }
});

it('a run has a call stack only if it is asked for', { timeout: 60_000 }, async () => {
  const queue = `traced-${randomUUID()}`;
  const tracing = await StackTracingWorker.create({ connection: native, taskQueue: queue, workflowBundle: bundle });
  const traced = await tracing.runUntil(async () => (await startOn(queue, 'sleeps', [60_000])).query<string>('__stack_trace'));
  expect(traced).toContain('spinning-workflows.ts');
  expect(await (await start('sleeps', 60_000)).query<string>('__stack_trace')).toBe('');
});

it('what a workflow logs is logged, in its order', { timeout: 60_000 }, async () => {
  const before = logged.length;
  await (await start('warns')).result();
  // The SDK passes lines on in batches, so the last may come after the run has ended.
  await expect.poll(() => logged.slice(before)).toEqual(['The first warning', 'The last warning']);
});
