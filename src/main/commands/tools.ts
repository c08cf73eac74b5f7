import { installToolPackages } from '../../toolrunner/index.ts';
import type { Config } from '../config.ts';
import { say } from '../terminal.ts';

/** `perdura tools install <package> …`: installs packages that custom tools may import. */
export default async function runToolsCommand(
  { PERDURA_HOME, TOOLRUNNER_PYTHON }: Config,
  [verb, ...packages]: string[],
): Promise<void> {
  if (verb !== 'install' || packages.length === 0)
    throw new Error('Name the packages to install: perdura tools install <package> …');
  const { python, is_new } = await installToolPackages({
    home: PERDURA_HOME,
    packages,
    ...(TOOLRUNNER_PYTHON ? { python: TOOLRUNNER_PYTHON } : {}),
  });
  say(`Installed for custom tools: ${packages.join(', ')} (${python})`);
  if (is_new) say('This created the environment for tools. Restart all running Perdura processes so that they use it.');
}
