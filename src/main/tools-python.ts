import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from './config.ts';

/** The interpreter of custom tools: the configured one, else the environment made by `perdura tools install`, else python3. */
export async function toolsPython({ TOOLRUNNER_PYTHON, PERDURA_HOME }: Config): Promise<string> {
  const own = join(PERDURA_HOME, 'tools-venv/bin/python');
  const made = await access(own).then(
    () => true,
    () => false,
  );
  return TOOLRUNNER_PYTHON ?? (made ? own : 'python3');
}
