import v8 from 'node:v8';
import type { Worker as Thread } from 'node:worker_threads';
import type { Worker } from '@temporalio/worker';
import type { Workflow, WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';
import type { SinkCall } from '@temporalio/workflow';

/*
 * The only place that uses what Temporal's SDK does not document. test/unit/vendor.test.ts names the version that was looked at, and
 * what is lost without each part. The SDK's files are imported when they are needed, since the service and the workflow thread need others.
 */

export { msToTs, optionalTsToMs } from '@temporalio/common/lib/time.js';
export type { SinkCall, Workflow, WorkflowCreator };

export const TESTED_TEMPORAL = '1.24.0';

/** What the SDK creates the workflows of a worker from. */
export type CreatorParts = Parameters<(typeof Worker)['createWorkflowCreator']>;

/** The result of an activation, and whether the workflow has logged nothing during it. */
export type Activated = Awaited<ReturnType<Workflow['activate']>> & { is_silent?: boolean };

/** Node limits a call into a context if this is a number. */
const UNLIMITED = undefined as unknown as number;

/** Creates workflows in a thread that runs `runWorkflowThread`. `limited`: each call into a workflow has the SDK's time limit. */
export async function createThreadedWorkflows(
  thread: Thread,
  { limited }: { limited: boolean },
  [workflowBundle, options, logger]: CreatorParts,
): Promise<WorkflowCreator> {
  const { ThreadedVMWorkflowCreator, WorkerThreadClient } = await import('@temporalio/worker/lib/workflow/threaded-vm.js');
  const client = new WorkerThreadClient(thread, logger);
  await client.send({
    type: 'init',
    workflowBundle,
    isolateExecutionTimeoutMs: limited ? options.isolateExecutionTimeoutMs : UNLIMITED,
    reuseV8Context: options.reuseV8Context,
    registeredActivityNames: new Set(options.activities.keys()),
    hasPatchActivationCallback: false,
  });
  return new ThreadedVMWorkflowCreator([client]);
}

/**
 * Runs the SDK's part of a workflow thread. Without `call_stacks`, the SDK does not record and format the stack of every promise. Each
 * activation says whether anything was logged that is shown, for which the SDK asks the thread once more otherwise.
 */
export async function runWorkflowThread({
  call_stacks,
  isShown,
}: {
  call_stacks: boolean;
  isShown(call: SinkCall): boolean;
}): Promise<void> {
  // Where this hook does not exist, the SDK does without.
  if (!call_stacks) v8.promiseHooks.createHook = () => () => {};
  const { BaseVMWorkflow } = await import('@temporalio/worker/lib/workflow/vm-shared.js');
  const { activate } = BaseVMWorkflow.prototype;
  BaseVMWorkflow.prototype.activate = async function (activation): Promise<Activated> {
    const completion = await activate.call(this, activation);
    const { activator } = this as unknown as { activator: { sinkCalls: SinkCall[] } };
    activator.sinkCalls = activator.sinkCalls.filter(isShown);
    return Object.assign(completion, { is_silent: activator.sinkCalls.length === 0 });
  };
  await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
}
