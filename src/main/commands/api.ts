import type { Config } from '../config.ts';
import { processLog } from '../log.ts';
import { parseCommand } from '../remote/options.ts';
import { createResources } from '../resources.ts';
import { loadExternalSettings } from '../setting.ts';
import { untilSignal } from '../until-signal.ts';
import { DEFAULT_PORT } from '../variables.ts';
import { openApi } from '../wiring/api.ts';
import { openClientConnection } from '../wiring/client-connection.ts';
import { openRunControl, openSharedServices } from '../wiring/index.ts';
import { registerPlugins } from '../wiring/register-plugins.ts';

/** Starts only the HTTP server. */
export default async function runApi(config: Config, args: string[] = []): Promise<void> {
  parseCommand('api', args);
  const ended = untilSignal();
  const log = processLog();
  const resources = createResources((error) => log(`While stopping: ${(error as Error).message}`));
  try {
    const setting = await loadExternalSettings(config);
    const core = await openSharedServices(setting, resources, log);
    await core.store.grants.grantExisting();
    await registerPlugins(core);
    const driver = openRunControl(core, openClientConnection(setting, resources), false);
    await driver.epoch.look();
    const app = await openApi(core, driver, { resources });
    log(
      `Perdura API at ${await app.listen({ host: config.PERDURA_HOST ?? '0.0.0.0', port: config.PERDURA_PORT ?? DEFAULT_PORT })}`,
    );
    await ended;
  } finally {
    await resources.close();
  }
}
