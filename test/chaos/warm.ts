import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { baseEnv } from '../support/machine/processes.ts';

const LOADED = [
  ...['worker', 'api'].map((command) => new URL(`../../src/main/commands/${command}.ts`, import.meta.url).href),
  ...['server/index.js', 'server/stdio.js', 'types.js'].map((file) => `@modelcontextprotocol/sdk/${file}`),
];

/** An environment with a cache of compiled code, which halves the cost of a restart. Filled here, because a killed process writes none. */
export async function warmedCache(home: string): Promise<{ NODE_COMPILE_CACHE: string }> {
  const env = { NODE_COMPILE_CACHE: join(home, 'compile-cache') };
  const script = LOADED.map((file) => `await import(${JSON.stringify(file)});`).join('\n');
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', `${script}\nprocess.exit(0)`];
  const child = spawn(process.execPath, flags, { env: { ...baseEnv(), ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  await once(child, 'exit');
  return env;
}
