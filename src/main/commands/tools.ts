import { installToolPackages } from '../../toolrunner/index.ts';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { say, sayJson } from '../terminal.ts';

/** `perdura tools install <package> …`: installs packages that custom tools may import. */
export default async function runToolsCommand({ PERDURA_HOME, TOOLRUNNER_PYTHON }: Config, args: string[]): Promise<void> {
  const given = parseCommand('tools', args);
  const packages = given.words;
  const { python, is_new } = await installToolPackages({
    home: PERDURA_HOME,
    packages,
    ...(TOOLRUNNER_PYTHON ? { python: TOOLRUNNER_PYTHON } : {}),
  });
  if (given.has('json')) return sayJson({ packages, python, is_new });
  say(`Installed for custom tools: ${packages.join(', ')} (${python})`);
  if (is_new) say('This created the environment for tools. Restart all running Perdura processes so that they use it.');
}
