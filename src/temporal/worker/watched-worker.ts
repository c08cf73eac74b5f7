import { extname } from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import { Worker } from '@temporalio/worker';
import {
  type Activated,
  type CreatorParts,
  createThreadedWorkflows,
  type Workflow,
  type WorkflowCreator,
} from '../../vendor/temporal-internals.ts';
import type { WorkflowThread } from './workflow-thread.ts';

/**
 * A worker whose workflow thread is watched from outside. The SDK instead limits the time of each call into a workflow, for which
 * it starts and ends another thread, about 25 times a run. If a workflow does not yield, its thread is replaced by one with the
 * SDK's limit, so that only runs of that workflow stand still.
 */
export class WatchedWorker extends Worker {
  protected static override createWorkflowCreator(...parts: CreatorParts): Promise<WorkflowCreator> {
    return startWatchedThread({ call_stacks: false }, parts);
  }
}

/** A watched worker whose runs can be asked for their call stacks. This takes a sixth of the processor time of a run. */
export class StackTracingWorker extends WatchedWorker {
  protected static override createWorkflowCreator(...parts: CreatorParts): Promise<WorkflowCreator> {
    return startWatchedThread({ call_stacks: true }, parts);
  }
}

function startWatchedThread(data: WorkflowThread, parts: CreatorParts): Promise<WorkflowCreator> {
  const [, , logger] = parts;
  return watchThread({
    start: () => startThread(data, { limited: false }, parts),
    startLimited: () => startThread(data, { limited: true }, parts),
    warn: (message) => logger.warn(message),
  });
}

/**
 * The number of checks in a row, one a second, at which calls were open and none had returned. A frozen process runs no checks.
 */
const SILENT_LOOKS = 5;
const LOOK_MS = 1_000;

interface StartedThread {
  creator: WorkflowCreator;
  thread: Thread;
}

const THREAD = new URL(`workflow-thread${extname(import.meta.url)}`, import.meta.url);

async function startThread(workerData: WorkflowThread, limit: { limited: boolean }, parts: CreatorParts): Promise<StartedThread> {
  const thread = new Thread(THREAD, { workerData });
  return { creator: await createThreadedWorkflows(thread, limit, parts), thread };
}

interface Watch {
  start(): Promise<StartedThread>;
  startLimited(): Promise<StartedThread>;
  warn(message: string): void;
}

async function watchThread({ start, startLimited, warn }: Watch): Promise<WorkflowCreator> {
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
      return wrapWorkflow(await during(() => creator.createWorkflow(options)), during);
    },
    async destroy() {
      clearInterval(looking);
      await (await current).creator.destroy();
    },
  };
}

const NOT_YIELDED = `A workflow did not yield for ${(SILENT_LOOKS * LOOK_MS) / 1_000} s`;

type During = <T>(call: () => Promise<T>) => Promise<T>;

function wrapWorkflow(workflow: Workflow, during: During): Workflow {
  let is_silent = false;
  return {
    async activate(activation) {
      is_silent = false;
      const activated: Activated = await during(() => workflow.activate(activation));
      is_silent = activated.is_silent === true;
      return activated;
    },
    getAndResetSinkCalls: async () => (is_silent ? [] : during(() => workflow.getAndResetSinkCalls())),
    dispose: () => workflow.dispose(),
  };
}

/**
 * Tracks the calls into a thread. When the thread is given up, open and later calls fail: their runs are replayed in another
 * thread.
 */
function callsInto({ creator, thread }: StartedThread) {
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
    /** Returns true if calls are open and none has returned since the previous check. */
    isSilent() {
      const is_silent = open.size > 0 && returned === 0;
      returned = 0;
      return is_silent;
    },
    giveUp(reason: Error) {
      given_up = reason;
      for (const fail of open) fail(reason);
      // The SDK's own way to end a thread would wait for its answer.
      void thread.terminate();
    },
  };
}
