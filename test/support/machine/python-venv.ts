import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The PyPI packages for the tests, in one environment: OpenAI's client, an MCP server, and tools that build and check Perdura's
 * client.
 */
const PACKAGES = [
  'openai==3.54.0',
  'mcp-server-time==2026.10.19',
  'httpx==0.28.1',
  'httpx-sse==0.4.3',
  'build==1.6.1',
  'hatchling==1.33.0',
  'mypy==2.4.1',
];

/**
 * Makes an environment, unless another process has made it: of two test files that need it at once, the second waits. The kernel
 * opens the lock when its process ends, however it ends. Each step has its own time limit, which ends the step.
 */
const MAKE = `
import fcntl, os, shutil, subprocess, sys
venv, *packages = sys.argv[1:]
def step(*command):
    if subprocess.run(command, stdout=subprocess.DEVNULL, timeout=150).returncode: sys.exit(1)
with open(venv + '.lock', 'w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if not os.path.exists(venv + '.complete'):
        shutil.rmtree(venv, ignore_errors=True)
        step(sys.executable, '-m', 'venv', *([] if packages else ['--without-pip']), venv)
        if packages:
            pip = [os.path.join(venv, 'bin', 'python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
            step(*pip, '--no-input', '--retries', '2', '--prefer-binary', *packages)
        open(venv + '.complete', 'w').close()
        print('made')
`;

const run = promisify(execFile);

export interface PythonEnvironment {
  python: string;
  venv: string;
  /** The folder of the interpreter that made it. */
  base: string;
}

export const testPython = (): Promise<PythonEnvironment> => pythonWith(PACKAGES);

/**
 * Returns the interpreter of an environment with the packages, kept in the user's cache for later test runs. Throws if it
 * cannot be created.
 */
export async function pythonWith(packages: readonly string[]): Promise<PythonEnvironment> {
  const { stdout } = await run('python3', ['-c', 'import sys; print(sys.base_prefix, sys.version, sep="\\n")']);
  const [base = '', version = ''] = stdout.split('\n');
  const key = createHash('sha256')
    .update(JSON.stringify([base, version, packages]))
    .digest('hex')
    .slice(0, 16);
  const venv = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdura', 'test-python', key);
  await makeOnce(venv, packages);
  return { python: join(venv, 'bin', 'python'), venv, base };
}

/** Makes the environment if no process has made it; returns true if this call did. Throws if it cannot be made. */
export async function makeOnce(venv: string, packages: readonly string[]): Promise<boolean> {
  if (existsSync(`${venv}.complete`)) return false;
  await mkdir(dirname(venv), { recursive: true });
  try {
    const { stdout } = await run('python3', ['-c', MAKE, venv, ...packages]);
    return stdout.includes('made');
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').slice(-2).join('; ') ?? '';
    throw new Error(`The Python environment of the tests could not be made (${packages.join(', ')}): ${said || error}`);
  }
}
