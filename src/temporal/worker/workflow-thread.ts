import v8 from 'node:v8';
import { workerData } from 'node:worker_threads';
import type { Workflow } from '@temporalio/worker/lib/workflow/interface.js';
import type { SinkCall } from '@temporalio/workflow';

/** What the thread is started with. */
export interface WorkflowThread {
  /** Whether runs can be asked for their call stacks, by the query `__stack_trace`. */
  call_stacks: boolean;
}

/** The result of an activation, and whether the workflow has logged nothing during it. */
export type Activated = Awaited<ReturnType<Workflow['activate']>> & { is_silent?: boolean };

const { call_stacks } = workerData as WorkflowThread;

// The SDK records and formats the stack of every promise, in case somebody asks. Where this hook does not exist it does without.
if (!call_stacks) v8.promiseHooks.createHook = () => () => {};

const { BaseVMWorkflow } = await import('@temporalio/worker/lib/workflow/vm-shared.js');

/** That a workflow has started and ended is logged as `debug`, which `quietSdk` never shows. */
const isShown = ({ ifaceName, fnName }: SinkCall): boolean =>
  ifaceName !== '__temporal_logger' || !['trace', 'debug'].includes(fnName);

// After each activation the SDK asks this thread what has been logged. That it was nothing is said with the activation.
const { activate } = BaseVMWorkflow.prototype;
BaseVMWorkflow.prototype.activate = async function (activation): Promise<Activated> {
  const completion = await activate.call(this, activation);
  const { activator } = this as unknown as { activator: { sinkCalls: SinkCall[] } };
  activator.sinkCalls = activator.sinkCalls.filter(isShown);
  return Object.assign(completion, { is_silent: activator.sinkCalls.length === 0 });
};

await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
