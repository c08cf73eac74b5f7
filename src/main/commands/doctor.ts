import type { Checks } from '../../api/service/health.ts';
import { textWithReason } from '../../domain/reason.ts';
import { DatabaseUnreachable } from '../../store/database/reachable.ts';
import type { Config } from '../config.ts';
import { doctorChecks } from '../doctor-checks.ts';
import { parseCommand } from '../remote/options.ts';
import { showProgress } from '../remote/progress.ts';
import { createResources, type Resources } from '../resources.ts';
import { loadRunningAddresses } from '../running.ts';
import { loadExternalSettings } from '../setting.ts';
import { sizeChecks } from '../size-checks.ts';
import { say, sayJson } from '../terminal.ts';
import { createChecks } from '../wiring/checks.ts';
import { openClientConnection } from '../wiring/client-connection.ts';
import { openRunControl, openSharedServices } from '../wiring/index.ts';

/** `perdura doctor`: prints each check with its verdict; exits with 1 if one fails. */
export default async function runDoctor(config: Config, args: string[] = []): Promise<void> {
  const json = parseCommand('doctor', args).has('json');
  const resources = createResources(() => {});
  try {
    // The checks run in parallel; otherwise each of them would wait for an unreachable server in turn.
    const checks = Object.entries(await openChecks(await addAddresses(config), resources));
    const progress = showProgress(checks.map(([name]) => name));
    const verdicts = checks.map(([name, check]) => runCheck(name, check).finally(() => progress.done(name)));
    if (json) sayJson(await Promise.all(verdicts));
    else for (const verdict of verdicts) progress.around(report, await verdict);
    progress.end();
    if ((await Promise.all(verdicts)).some(({ ok }) => !ok)) process.exitCode = 1;
  } finally {
    await resources.close();
  }
}

/** Adds the addresses of the installation that runs in the home folder, unless the environment names some. */
async function addAddresses(config: Config): Promise<Config> {
  if (config.DATABASE_URL && config.TEMPORAL_ADDRESS) return config;
  const { database_url: DATABASE_URL, temporal_address: TEMPORAL_ADDRESS } = await loadRunningAddresses(config);
  return { ...config, DATABASE_URL, TEMPORAL_ADDRESS, IDENTITY_PROVIDERS: ['local'] };
}

/** Opens what API and workers open at their start. If that fails, the failure is the finding, and only the engine is checked. */
async function openChecks(config: Config, resources: Resources): Promise<Checks> {
  const setting = await loadExternalSettings(config);
  const connection = openClientConnection(setting, resources);
  try {
    const core = await openSharedServices(setting, resources, () => {});
    const driver = openRunControl(core, connection, false);
    return { ...createChecks(core, driver), ...doctorChecks(core, driver), ...sizeChecks(core) };
  } catch (error) {
    const refuse = () => Promise.reject(error);
    return {
      ...(error instanceof DatabaseUnreachable ? { database: refuse } : { database: async () => 'answers', start: refuse }),
      engine: () =>
        connection
          .withDeadline(Date.now() + PATIENCE_MS, () => connection.workflowService.getSystemInfo({}))
          .then(() => 'answers'),
    };
  }
}

const PATIENCE_MS = 5_000;

interface Verdict {
  check: string;
  ok: boolean;
  detail: string;
}

const runCheck = (name: string, check: () => Promise<string>): Promise<Verdict> =>
  check().then(
    (detail) => ({ check: name, ok: true, detail }),
    (error: Error) => ({ check: name, ok: false, detail: textWithReason(error) }),
  );

const report = ({ check, ok, detail }: Verdict) => say(`${ok ? 'ok    ' : 'FAILED'}  ${check}: ${detail}`);
