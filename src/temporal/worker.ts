import { DefaultLogger, type NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { type ActivityPorts, runActivities } from './activities/index.ts';
import { workflowBundle } from './bundle.ts';

interface WorkerSettings {
  connection: NativeConnection;
  namespace: string;
  task_queue: string;
  /** Where the bundled workflow code is kept. */
  cache_dir: string;
  max_activities: number;
  /** How many runs are kept in memory between their steps. The least recently used is evicted, and replayed when it continues. */
  cached_runs: number;
  /** How long a running step may take to end when the worker is asked to stop. */
  shutdown_seconds: number;
  /** Names this version of the code: runs stay on workers of the version they began on. Null: any worker takes any run. */
  build_id: string | null;
}

/** The name under which the versions of all workers are kept in the engine. */
export const DEPLOYMENT = 'perdura';

/**
 * How much of the SDK's own log goes to stderr. Must be set before the first connection. The log of its native part is not
 * forwarded, because then every trace of both parts would be buffered, sorted and dropped.
 */
export function quietSdk(level: 'WARN' | 'ERROR' = 'WARN'): void {
  Runtime.install({ logger: new DefaultLogger(level), telemetryOptions: { logging: { console: {}, filter: 'ERROR' } } });
}

export interface RunningWorker {
  /** Resolves when the worker has stopped; rejects if it crashed. */
  done: Promise<void>;
  /** Takes no new work, lets running steps end or hands them over, then resolves. */
  stop(): Promise<void>;
}

export async function startWorker(ports: ActivityPorts, settings: WorkerSettings): Promise<RunningWorker> {
  const worker = await Worker.create({
    connection: settings.connection,
    namespace: settings.namespace,
    taskQueue: settings.task_queue,
    workflowBundle: await workflowBundle(settings.cache_dir),
    activities: runActivities(ports),
    maxConcurrentActivityTaskExecutions: settings.max_activities,
    maxCachedWorkflows: settings.cached_runs,
    maxEagerActivityReservationsPerWorkflowTask: 10,
    // A halt arrives with the reply to a heartbeat, and a run whose worker is lost moves to another after these seconds.
    maxHeartbeatThrottleInterval: '2s',
    defaultHeartbeatThrottleInterval: '2s',
    stickyQueueScheduleToStartTimeout: '4s',
    shutdownGraceTime: `${settings.shutdown_seconds}s`,
    shutdownForceTime: `${settings.shutdown_seconds + 5}s`,
    ...(settings.build_id ? versioned(settings.build_id) : {}),
  });
  const done = worker.run();
  done.catch(() => {});
  return {
    done,
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await done.catch(() => {});
    },
  };
}

const versioned = (buildId: string) => ({
  workerDeploymentOptions: {
    useWorkerVersioning: true as const,
    version: { buildId, deploymentName: DEPLOYMENT },
    defaultVersioningBehavior: 'PINNED' as const,
  },
});
