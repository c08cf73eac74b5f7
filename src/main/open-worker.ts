import { hostname } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import type { NativeConnection } from '@temporalio/worker';
import { v7 as uuid } from 'uuid';
import { takeLock } from '../embedded/lock-file.ts';
import { measureDisk } from '../temporal/repair/sizes.ts';
import { keepBeating } from '../temporal/worker/beats.ts';
import { keepPrepared, missingParts, prepareEngine } from '../temporal/worker/housekeeping.ts';
import { countSlots } from '../temporal/worker/slots.ts';
import { type RunningWorker, selectRoles, startWorker } from '../temporal/worker/worker.ts';
import { type Config, hasRole } from './config.ts';
import type { RunControl, SharedServices } from './core.ts';
import type { Resources } from './resources.ts';
import { openRunControl } from './wiring/index.ts';
import { createActivityPorts } from './wiring/runs/index.ts';

export async function openWorker(
  core: SharedServices,
  connection: NativeConnection,
  resources: Resources,
): Promise<RunningWorker> {
  const { config } = core.setting;
  if (config.S3_BUCKET) await takeHome(config, resources);
  const driver = openRunControl(core, connection, true);
  const { ports, unwatch } = await createActivityPorts(core, driver);
  const settings = { ...getWorkerSettings(config), connection, version: core.setting.version, tracing: core.tracing };
  resources.hold(unwatch, (end) => end());
  if (hasRole(config, 'runs')) await keepEngine(core, driver, resources);
  else await untilPrepared(core, driver);
  const worker = await startWorker(ports, settings);
  const reports = reportWorker(core, worker);
  // It reports until its last step has ended. A database that does not answer must not delay its stop.
  return resources.hold(worker, async (it) => {
    try {
      await it.stop();
    } finally {
      await reports.stop();
    }
  });
}

/** Reports this process and its load while it works, for the page System. */
function reportWorker({ setting: { config, version }, store, log }: SharedServices, worker: RunningWorker) {
  const id = uuid();
  const facts = {
    id,
    // The identity that the SDK gives the engine.
    name: `${process.pid}@${hostname()}`,
    version,
    build_id: config.WORKER_BUILD_ID ?? null,
    roles: config.WORKER_ROLE,
  };
  const beat = async () => {
    const disk_free = await measureDisk(config.PERDURA_HOME).then(
      ({ free }) => free,
      () => null,
    );
    await store.workerBeats.beat({ ...facts, ...worker.load(), disk_free });
  };
  return keepBeating({ beat, leave: () => store.workerBeats.leave(id), log });
}

/** Returns what the environment sets of a worker. */
export function getWorkerSettings(config: Config) {
  const roles = selectRoles(config.WORKER_ROLE, { role_queues: config.TEMPORAL_ROLE_QUEUES });
  return {
    namespace: config.TEMPORAL_NAMESPACE,
    task_queue: config.TEMPORAL_TASK_QUEUE,
    roles,
    cache_dir: `${config.PERDURA_HOME}/cache`,
    max_activities: countSlots(config.WORKER_MAX_ACTIVITIES, roles.length),
    cached_runs: config.WORKER_CACHED_RUNS,
    shutdown_seconds: config.WORKER_SHUTDOWN_SECONDS,
    build_id: config.WORKER_BUILD_ID ?? null,
    call_stacks: config.WORKER_CALL_STACKS,
  };
}

/** Returns what the environment sets of the care for the engine. */
export const getHousekeepingSettings = (config: Config) => ({
  task_queue: config.TEMPORAL_TASK_QUEUE,
  every_seconds: config.RECONCILE_SECONDS,
  retention_days: config.ENGINE_RETENTION_DAYS,
});

/** Prepares the engine, and prepares it again whenever it has lost a part. */
async function keepEngine(
  { setting: { config }, log }: SharedServices,
  { client, epoch }: RunControl,
  resources: Resources,
): Promise<void> {
  const housekeeping = { ...getHousekeepingSettings(config), client };
  await prepareEngine(housekeeping);
  // Before this worker takes any work of a record that was restored.
  await epoch.beat(0);
  resources.hold(keepPrepared({ ...housekeeping, epoch, log }), (it) => it.stop());
}

const LOOK_MS = 1_000;

/** Waits for a worker that runs workflows: it prepares the engine, and marks the runs of a record that was restored. */
async function untilPrepared({ setting: { config }, log }: SharedServices, { client, epoch }: RunControl): Promise<void> {
  const findReasons = async () => {
    const missing = await missingParts(client, config.TEMPORAL_TASK_QUEUE);
    const lack = missing.length > 0 ? `The workflow engine lacks ${missing.join(', ')}` : null;
    return [lack, (await epoch.compare()).why].filter((reason) => reason !== null);
  };
  const reasons = await findReasons();
  if (reasons.length === 0) return;
  log(`${reasons.join('. ')}: waiting for a worker of the role runs`);
  do await wait(LOOK_MS);
  while ((await findReasons()).length > 0);
}

/** A worker's copies of workspaces are its own. */
async function takeHome({ PERDURA_HOME: home }: Config, resources: Resources): Promise<void> {
  const lock = await takeLock(`${home}/workspaces.lock`);
  if (!lock.held)
    throw new Error(
      `Process ${lock.holder.pid} is a worker with the home ${home}: with S3_BUCKET each worker needs a separate PERDURA_HOME`,
    );
  resources.hold(lock, (it) => it.release());
}
