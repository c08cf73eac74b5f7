import type { Worker as Thread } from 'node:worker_threads';
import { Worker } from '@temporalio/worker';
import type { CompiledWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import type { Workflow, WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';

type Parts = Parameters<(typeof Worker)['createWorkflowCreator']>;

/**
 * A worker whose workflow thread is watched from outside. The SDK limits the time of each call into a workflow instead, for which it
 * starts and ends another thread: about 25 times a run. If a workflow does not yield, its thread is replaced by one with the SDK's limit,
 * so that only runs of that workflow stand still.
 */
export class WatchedWorker extends Worker {
  protected static override createWorkflowCreator(...[bundle, options, logger]: Parts): Promise<WorkflowCreator> {
    const start = (limit: Pick<CompiledWorkerOptions, 'isolateExecutionTimeoutMs'>) =>
      Worker.createWorkflowCreator(bundle, { ...options, ...limit, workflowThreadPoolSize: 1 }, logger);
    return watched({
      start: () => start(UNLIMITED),
      startLimited: () => start(options),
      warn: (message) => logger.warn(message),
    });
  }
}

/** Node limits a call into a context if this is a number. */
const UNLIMITED = { isolateExecutionTimeoutMs: undefined as unknown as number };

/** For so many looks in a row, one a second, calls were open and none returned. A frozen process is not looked at meanwhile. */
const SILENT_LOOKS = 5;
const LOOK_MS = 1_000;

interface Watch {
  start(): Promise<WorkflowCreator>;
  startLimited(): Promise<WorkflowCreator>;
  warn(message: string): void;
}

async function watched({ start, startLimited, warn }: Watch): Promise<WorkflowCreator> {
  const first = callsInto(await start());
  let current = Promise.resolve(first);
  let silent = 0;
  const looking = setInterval(() => {
    silent = first.isSilent() ? silent + 1 : 0;
    if (silent < SILENT_LOOKS) return;
    clearInterval(looking);
    warn(`${NOT_YIELDED}; the thread of all workflows is replaced by one that ends such calls`);
    current = startLimited().then(callsInto);
    first.giveUp(new Error(NOT_YIELDED));
  }, LOOK_MS).unref();
  return {
    async createWorkflow(options) {
      const { creator, during } = await current;
      return workflowIn(await during(() => creator.createWorkflow(options)), during);
    },
    async destroy() {
      clearInterval(looking);
      await (await current).creator.destroy();
    },
  };
}

const NOT_YIELDED = `A workflow did not yield for ${(SILENT_LOOKS * LOOK_MS) / 1_000} s`;

type During = <T>(call: () => Promise<T>) => Promise<T>;

const workflowIn = (workflow: Workflow, during: During): Workflow => ({
  activate: (activation) => during(() => workflow.activate(activation)),
  getAndResetSinkCalls: () => during(() => workflow.getAndResetSinkCalls()),
  dispose: () => workflow.dispose(),
});

/** Calls into a thread. Those that are open when it is given up, and later ones, fail: their runs are replayed in another. */
function callsInto(creator: WorkflowCreator) {
  const open = new Set<(reason: Error) => void>();
  let returned = 0;
  let given_up: Error | null = null;
  const during: During = (call) =>
    new Promise((resolve, reject) => {
      if (given_up) return reject(given_up);
      open.add(reject);
      const end = () => {
        open.delete(reject);
        returned += 1;
      };
      call().finally(end).then(resolve, reject);
    });
  return {
    creator,
    during,
    /** Whether calls are open and none has returned since this was asked before. */
    isSilent() {
      const is_silent = open.size > 0 && returned === 0;
      returned = 0;
      return is_silent;
    },
    giveUp(reason: Error) {
      given_up = reason;
      for (const fail of open) fail(reason);
      for (const thread of threadsOf(creator)) void thread.terminate();
    },
  };
}

/** The SDK's own way to end a thread waits until that answers. */
const threadsOf = (creator: WorkflowCreator): Thread[] =>
  (creator as unknown as { workerThreadClients: { workerThread: Thread }[] }).workerThreadClients.map(
    ({ workerThread }) => workerThread,
  );
