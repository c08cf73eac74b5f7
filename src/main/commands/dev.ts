import type { Config } from '../config.ts';
import { type Installation, startInstallation } from '../dev.ts';
import { processLog } from '../log.ts';
import { standardOutput } from '../log-destination.ts';
import { parseCommand } from '../remote/options.ts';
import { untilSignal } from '../until-signal.ts';

export default async function runDev(config: Config, args: string[] = []): Promise<void> {
  parseCommand('dev', args);
  const ended = untilSignal();
  const log = processLog();
  const starting = startInstallation(config, log);
  const running = await Promise.race([starting, ended.then(() => null)]);
  if (!running) {
    log('Stopping …');
    await (await starting).stop();
    return;
  }
  standardOutput.write(formatGreeting(running.installation));
  try {
    await Promise.race([ended, running.done]);
  } finally {
    log('Stopping …');
    await running.stop();
  }
}

/** Returns what is printed once the installation is ready. */
export const formatGreeting = ({ api_url, dashboard_url, docs_url, temporal_ui_url, token_file }: Installation) => `
Perdura is ready.

  Dashboard     ${dashboard_url}
  API           ${api_url}/api
  API docs      ${docs_url}
  Temporal UI   ${temporal_ui_url ?? 'where you run it'}
  Access token  ${token_file}

First run:      npm run demo
Stop:           Ctrl-C

`;
