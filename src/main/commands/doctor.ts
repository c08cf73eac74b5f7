import type { Checks } from '../../api/health.ts';
import { checksOf } from '../checks.ts';
import type { Config } from '../config.ts';
import { doctorChecks } from '../doctor-checks.ts';
import { createResources, type Resources } from '../resources.ts';
import { runningIn } from '../running.ts';
import { externalSetting } from '../setting.ts';
import { sizeChecks } from '../size-checks.ts';
import { openClientConnection, openRunControl, openSharedServices } from '../wiring.ts';

/** Each check with its verdict; exits with 1 when one fails. */
export default async function runDoctor(config: Config): Promise<void> {
  const resources = createResources(() => {});
  try {
    // In parallel: otherwise each check would wait for an unreachable server in turn.
    const checks = Object.entries(await checksFor(await placed(config), resources));
    const verdicts = checks.map(([name, check]) => verdictOf(name, check));
    for (const verdict of verdicts) print(await verdict);
  } finally {
    await resources.close();
  }
}

/** The addresses in the environment, else those of the installation running in the home folder. */
async function placed(config: Config): Promise<Config> {
  if (config.DATABASE_URL && config.TEMPORAL_ADDRESS) return config;
  const { database_url: DATABASE_URL, temporal_address: TEMPORAL_ADDRESS } = await runningIn(config);
  return { ...config, DATABASE_URL, TEMPORAL_ADDRESS, IDENTITY_PROVIDERS: ['local'] };
}

/** If the database cannot be opened, that is the finding, and only the engine is checked. */
async function checksFor(config: Config, resources: Resources): Promise<Checks> {
  const setting = await externalSetting(config);
  const connection = openClientConnection(setting, resources);
  try {
    const core = await openSharedServices(setting, resources, () => {});
    const driver = openRunControl(core, connection, false);
    return { ...checksOf(core, driver), ...doctorChecks(core, driver), ...sizeChecks(core) };
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

interface Verdict {
  healthy: boolean;
  line: string;
}

const verdictOf = (name: string, check: () => Promise<string>): Promise<Verdict> =>
  check().then(
    (found) => ({ healthy: true, line: `ok      ${name}: ${found}` }),
    (error: Error) => ({ healthy: false, line: `FAILED  ${name}: ${error.message}` }),
  );

function print({ healthy, line }: Verdict): void {
  if (!healthy) process.exitCode = 1;
  process.stdout.write(`${line}\n`);
}
