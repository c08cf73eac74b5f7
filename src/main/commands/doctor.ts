import { checksOf } from '../checks.ts';
import type { Config } from '../config.ts';
import { createResources } from '../resources.ts';
import { externalSetting } from '../setting.ts';
import { openClientConnection, openCore, openDriver } from '../wiring.ts';

/** Each check with its verdict; exits with 1 when one fails. */
export async function command(config: Config): Promise<void> {
  const resources = createResources(() => {});
  try {
    const setting = await externalSetting(config);
    const core = await openCore(setting, resources, () => {});
    const checks = checksOf(core, openDriver(core, openClientConnection(setting, resources), false).engine);
    for (const [name, check] of Object.entries(checks)) {
      try {
        process.stdout.write(`ok      ${name}: ${await check()}\n`);
      } catch (error) {
        process.exitCode = 1;
        process.stdout.write(`FAILED  ${name}: ${(error as Error).message}\n`);
      }
    }
  } finally {
    await resources.close();
  }
}
