import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checks } from '../../api/health.ts';
import { checksOf } from '../checks.ts';
import type { Config } from '../config.ts';
import { doctorChecks } from '../doctor-checks.ts';
import { createResources, type Resources } from '../resources.ts';
import { externalSetting } from '../setting.ts';
import { openClientConnection, openCore, openDriver } from '../wiring.ts';

/** Each check with its verdict; exits with 1 when one fails. */
export async function command(config: Config): Promise<void> {
  const resources = createResources(() => {});
  try {
    for (const [name, check] of Object.entries(await checksFor(await placed(config), resources))) await tell(name, check);
  } finally {
    await resources.close();
  }
}

/** Without addresses in the environment, those of the installation that runs in the home folder. */
async function placed(config: Config): Promise<Config> {
  if (config.DATABASE_URL && config.TEMPORAL_ADDRESS) return config;
  const file = config.PERDURA_READY_FILE ?? join(config.PERDURA_HOME, 'ready.json');
  const text = await readFile(file, 'utf8').catch(() => {
    throw new Error(`No installation runs in ${config.PERDURA_HOME}: start it, or set DATABASE_URL and TEMPORAL_ADDRESS`);
  });
  const { database_url: DATABASE_URL, temporal_address: TEMPORAL_ADDRESS } = JSON.parse(text);
  return { ...config, DATABASE_URL, TEMPORAL_ADDRESS, IDENTITY_PROVIDERS: ['local'] };
}

/** Where the database cannot be opened, that is the finding, and the engine is looked at alone. */
async function checksFor(config: Config, resources: Resources): Promise<Checks> {
  const setting = await externalSetting(config);
  const connection = openClientConnection(setting, resources);
  try {
    const core = await openCore(setting, resources, () => {});
    const driver = openDriver(core, connection, false);
    return { ...checksOf(core, driver.engine), ...doctorChecks(core, driver) };
  } catch (error) {
    return {
      database: () => Promise.reject(error),
      engine: () =>
        connection
          .withDeadline(Date.now() + PATIENCE_MS, () => connection.workflowService.getSystemInfo({}))
          .then(() => 'answers'),
    };
  }
}

const PATIENCE_MS = 5_000;

async function tell(name: string, check: () => Promise<string>): Promise<void> {
  try {
    process.stdout.write(`ok      ${name}: ${await check()}\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(`FAILED  ${name}: ${(error as Error).message}\n`);
  }
}
