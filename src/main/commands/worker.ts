import { quietSdk } from '../../temporal/worker.ts';
import type { Config } from '../config.ts';
import { standardError } from '../log-destination.ts';
import { createResources } from '../resources.ts';
import { externalSetting } from '../setting.ts';
import { untilSignal } from '../until-signal.ts';
import { openSharedServices, openWorker, openWorkerConnection } from '../wiring.ts';

const log = (line: string) => standardError.write(`${line}\n`);

/** A worker only. */
export default async function runWorker(config: Config): Promise<void> {
  const ended = untilSignal();
  const resources = createResources((error) => log(`While stopping: ${(error as Error).message}`));
  try {
    quietSdk();
    const setting = await externalSetting(config);
    const core = await openSharedServices(setting, resources, log);
    await core.store.grants.grantExisting();
    const worker = await openWorker(core, await openWorkerConnection(setting, resources, log), resources);
    log(`Perdura worker ${process.pid} takes work from ${setting.temporal_address}`);
    await Promise.race([ended, worker.done]);
  } finally {
    await resources.close();
  }
}
