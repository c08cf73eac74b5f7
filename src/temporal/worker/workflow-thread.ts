import v8 from 'node:v8';
import { workerData } from 'node:worker_threads';
import type { Workflow } from '@temporalio/worker/lib/workflow/interface.js';
import type { SinkCall } from '@temporalio/workflow';

/** The data that the thread is started with. */
export interface WorkflowThread {
  /** True if runs can be asked for their call stacks, with the query `__stack_trace`. */
  call_stacks: boolean;
}

/** The result of an activation. `is_silent`: the workflow has logged nothing during it. */
export type Activated = Awaited<ReturnType<Workflow['activate']>> & { is_silent?: boolean };

const { call_stacks } = workerData as WorkflowThread;

// The SDK records and formats the stack of every promise in case somebody asks for it. It works without this hook.
if (!call_stacks) v8.promiseHooks.createHook = () => () => {};

const { BaseVMWorkflow } = await import('@temporalio/worker/lib/workflow/vm-shared.js');

/** True if a log entry may be shown. The start and end of a workflow are logged as `debug`, which `quietSdk` never shows. */
const isShown = ({ ifaceName, fnName }: SinkCall): boolean =>
  ifaceName !== '__temporal_logger' || !['trace', 'debug'].includes(fnName);

// After each activation the SDK asks this thread what has been logged. The activation's result now includes the answer if nothing
// was.
const { activate } = BaseVMWorkflow.prototype;
BaseVMWorkflow.prototype.activate = async function (activation): Promise<Activated> {
  const completion = await activate.call(this, activation);
  const { activator } = this as unknown as { activator: { sinkCalls: SinkCall[] } };
  activator.sinkCalls = activator.sinkCalls.filter(isShown);
  return Object.assign(completion, { is_silent: activator.sinkCalls.length === 0 });
};

await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
