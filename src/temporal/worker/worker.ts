import { DefaultLogger, type LogEntry, type NativeConnection, Runtime, type WorkerOptions } from '@temporalio/worker';
import { type ActivityPorts, type RunActivities, runActivities } from '../activities/index.ts';
import { queueOfRole, ROLES, type Role, toBuildId } from '../names.ts';
import { workflowBundle } from './bundle.ts';
import { activityPlaces } from './sdk-log.ts';
import { StackTracingWorker, WatchedWorker } from './watched-worker.ts';

interface WorkerSettings {
  connection: NativeConnection;
  namespace: string;
  /** The installation's task queue. The queues of the roles are named after it. */
  task_queue: string;
  /** The roles from whose queues it takes work. */
  roles: readonly Role[];
  /** The folder where the bundled workflow code is kept. */
  cache_dir: string;
  /** The number of activities that run at once in each queue. */
  max_activities: number;
  /**
   * The number of runs kept in memory between their steps. The least recently used is evicted, and replayed when it continues.
   */
  cached_runs: number;
  /** The seconds that a running step may take to end when the worker is asked to stop. */
  shutdown_seconds: number;
  /** The version of Perdura. */
  version: string;
  /** The name of this version of the code: runs stay on workers of the version they began on. Null: any worker takes any run. */
  build_id: string | null;
  /** True if runs can be asked for their call stacks. */
  call_stacks: boolean;
  /** Traces of activities and workflows; null: none. */
  tracing: WorkerTracing | null;
}

interface WorkerTracing {
  workerOptions: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
  /** The modules for the bundle of workflow code. */
  workflowModules: string[];
}

/** The name under which the versions of all workers are kept in the engine. */
export const DEPLOYMENT = 'perdura';

interface SdkOutput {
  metrics_address?: string | undefined;
  /** Receives the log instead of stderr. */
  write?: ((entry: LogEntry) => void) | undefined;
}

/**
 * Sets how much of the SDK's own log goes to stderr. Must be called before the first connection. With `write`, the log of its
 * native part is sent there as well. With `metrics_address` (host:port) the SDK serves its metrics there.
 */
export function quietSdk(level: 'WARN' | 'ERROR' = 'WARN', { metrics_address, write }: SdkOutput = {}): void {
  const logging = write ? { forward: {}, filter: 'ERROR' } : { console: {}, filter: 'ERROR' };
  const metrics = metrics_address ? { metrics: buildMetrics(metrics_address) } : {};
  const runtime = Runtime.install({ logger: new DefaultLogger(level, write), telemetryOptions: { logging, ...metrics } });
  if (write) dropEarly(runtime, level);
}

const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR'];

/**
 * Makes the logger drop unwanted entries first. If a log is forwarded, the SDK otherwise buffers and sorts every trace of both
 * parts, only to drop it.
 */
const dropEarly = ({ logger }: Runtime, level: string) => Object.assign(logger, { severity: SEVERITIES.indexOf(level) });

/** Configures the SDK's own metrics for Prometheus: units and kinds are in their names. */
const buildMetrics = (bindAddress: string) => ({
  prometheus: { bindAddress, countersTotalSuffix: true, unitSuffix: true, useSecondsForDurations: true },
});

export interface RunningWorker {
  /** Returns true if it asks for work in all of its queues. */
  polls(): boolean;
  /** Returns how many steps and calls it can run at once in all of its queues, and how many it runs now. */
  load(): { slots: number; used: number };
  /** Resolves when the worker has stopped; rejects if it crashed. */
  done: Promise<void>;
  /** Takes no new work, lets running steps end or hands them over, then resolves. */
  stop(): Promise<void>;
}

/**
 * Returns the roles whose queues a process polls. A worker of all roles polls only the queue of runs, unless runs send work to
 * the others: the engine gives a step to the worker that asked for it only within one queue.
 */
export const selectRoles = (roles: readonly Role[], { role_queues }: { role_queues: boolean }): readonly Role[] =>
  roles.length === ROLES.length && !role_queues ? ['runs'] : roles;

/** The activities in the queue of a role. The queue of runs has all of them, for runs that began without the other queues. */
const ACTIVITIES: Record<Role, (all: RunActivities) => Partial<RunActivities>> = {
  runs: (all) => all,
  models: ({ exchange, remember }) => ({ exchange, remember }),
  tools: ({ callTool, gradeByTool }) => ({ callTool, gradeByTool }),
};

export async function startWorker(ports: ActivityPorts, settings: WorkerSettings): Promise<RunningWorker> {
  const activities = runActivities(ports);
  const workers: WatchedWorker[] = [];
  const Watched = settings.call_stacks ? StackTracingWorker : WatchedWorker;
  for (const role of settings.roles) workers.push(await Watched.create(await buildOptions(role, activities, settings)));
  const ends = workers.map((worker) => worker.run());
  const stop = async () => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    await Promise.allSettled(ends);
  };
  const done = Promise.all(ends).then(() => {});
  done.catch(() => {});
  return {
    polls: () => workers.every((worker) => worker.getState() === 'RUNNING'),
    load: () => ({
      slots: settings.max_activities * workers.length,
      used: workers.reduce((sum, worker) => sum + worker.getStatus().numInFlightNonLocalActivities, 0),
    }),
    done,
    stop,
  };
}

async function buildOptions(role: Role, activities: RunActivities, settings: WorkerSettings): Promise<WorkerOptions> {
  return {
    connection: settings.connection,
    namespace: settings.namespace,
    taskQueue: queueOfRole(settings.task_queue, role),
    activities: ACTIVITIES[role](activities),
    maxConcurrentActivityTaskExecutions: settings.max_activities,
    ...(role === 'runs' ? await workflowOptions(settings) : {}),
    // A halt arrives with the reply to a heartbeat. A run whose worker is lost moves to another worker after this time.
    maxHeartbeatThrottleInterval: '2s',
    defaultHeartbeatThrottleInterval: '2s',
    shutdownGraceTime: `${settings.shutdown_seconds}s`,
    shutdownForceTime: `${settings.shutdown_seconds + 5}s`,
    ...(settings.build_id ? buildVersioning(settings.build_id) : { buildId: toBuildId(settings.version) }),
    ...settings.tracing?.workerOptions,
    interceptors: buildInterceptors(settings.tracing),
  };
}

const workflowOptions = async ({ cache_dir, cached_runs, tracing }: WorkerSettings) => ({
  workflowBundle: await workflowBundle(cache_dir, tracing?.workflowModules),
  maxCachedWorkflows: cached_runs,
  maxEagerActivityReservationsPerWorkflowTask: 10,
  stickyQueueScheduleToStartTimeout: '4s' as const,
});

const buildInterceptors = (tracing: WorkerSettings['tracing']) => {
  const { activity = [], ...others } = tracing?.workerOptions.interceptors ?? {};
  return { ...others, activity: [...activity, activityPlaces] };
};

const buildVersioning = (buildId: string) => ({
  workerDeploymentOptions: {
    useWorkerVersioning: true as const,
    version: { buildId, deploymentName: DEPLOYMENT },
    defaultVersioningBehavior: 'PINNED' as const,
  },
});
