import { workerData } from 'node:worker_threads';
import { runWorkflowThread, type SinkCall } from '../../vendor/temporal-internals.ts';

/** The data that the thread is started with. */
export interface WorkflowThread {
  /** True if runs can be asked for their call stacks, with the query `__stack_trace`. */
  call_stacks: boolean;
}

/** True if a log entry may be shown. The start and end of a workflow are logged as `debug`, which `quietSdk` never shows. */
const isShown = ({ ifaceName, fnName }: SinkCall): boolean =>
  ifaceName !== '__temporal_logger' || !['trace', 'debug'].includes(fnName);

await runWorkflowThread({ ...(workerData as WorkflowThread), isShown });
