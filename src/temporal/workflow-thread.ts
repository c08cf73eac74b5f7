import v8 from 'node:v8';
import { workerData } from 'node:worker_threads';

/** What the thread is started with. */
export interface WorkflowThread {
  /** Whether runs can be asked for their call stacks, by the query `__stack_trace`. */
  call_stacks: boolean;
}

const { call_stacks } = workerData as WorkflowThread;

// The SDK records and formats the stack of every promise, in case somebody asks. Where this hook does not exist it does without.
if (!call_stacks) v8.promiseHooks.createHook = () => () => {};

await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
