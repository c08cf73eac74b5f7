import { findFreePort } from '../../embedded/ports.ts';
import { ROLES } from '../../temporal/names.ts';
import { quietSdk, type RunningWorker } from '../../temporal/worker/worker.ts';
import { type Config, hasRole } from '../config.ts';
import { processLog, sdkLog } from '../log.ts';
import { openWorker } from '../open-worker.ts';
import { parseCommand, usageError } from '../remote/options.ts';
import { createResources } from '../resources.ts';
import { loadExternalSettings } from '../setting.ts';
import { untilSignal } from '../until-signal.ts';
import { WorkerRoles } from '../variables.ts';
import { openRunControl, openSharedServices, openWorkerConnection } from '../wiring/index.ts';
import { openWorkerPort } from '../worker-port.ts';

/**
 * Returns the configuration with the role of the command line, which takes precedence over WORKER_ROLE. Throws a sentence about
 * any other argument.
 */
function withRole(config: Config, args: string[]): Config {
  const role = parseCommand('worker', args).text('role');
  if (role === undefined) return config;
  const { data: WORKER_ROLE, error } = WorkerRoles.safeParse(role);
  if (error) throw usageError('worker', `--role: ${error.issues[0]?.message}`);
  return { ...config, WORKER_ROLE };
}

/** `perdura worker [--role runs|models|tools]`: starts only a worker; commas separate several roles. */
export default async function runWorker(settings: Config, args: string[]): Promise<void> {
  const config = withRole(settings, args);
  const ended = untilSignal();
  const log = processLog();
  const resources = createResources((error) => log(`While stopping: ${(error as Error).message}`));
  try {
    const sdk_address = config.WORKER_PORT === undefined ? undefined : `127.0.0.1:${await findFreePort()}`;
    quietSdk('WARN', { metrics_address: sdk_address, write: sdkLog() });
    const setting = await loadExternalSettings(config);
    const core = await openSharedServices(setting, resources, log);
    if (hasRole(config, 'runs')) await core.store.grants.grantExisting();
    const connection = await openWorkerConnection(setting, resources, log);
    let polling: RunningWorker | null = null;
    if (sdk_address) {
      const sdk_metrics = `http://${sdk_address}/metrics`;
      const driver = openRunControl(core, connection, false);
      const address = await openWorkerPort({ core, driver, worker: () => polling, sdk_metrics }, resources);
      log(`Health and metrics of the worker at ${address}`);
    }
    const worker = await openWorker(core, connection, resources);
    polling = worker;
    const roles = config.WORKER_ROLE.length === ROLES.length ? '' : ` as ${config.WORKER_ROLE.join(', ')}`;
    log(`Perdura worker ${process.pid} takes work from ${setting.temporal_address}${roles}`);
    if (roles && !config.TEMPORAL_ROLE_QUEUES)
      log('TEMPORAL_ROLE_QUEUES is off: runs that start now send all their work to workers with the role runs');
    await Promise.race([ended, worker.done]);
  } finally {
    await resources.close();
  }
}
