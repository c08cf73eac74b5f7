import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, rename, rm, writeFile } from 'node:fs/promises';
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
const PATIENCE_MS = 150_000;

const run = promisify(execFile);

/**
 * Returns the interpreter of an environment with the packages, kept in the user's cache for later test runs. Throws if it
 * cannot be created.
 */
export async function testPython(): Promise<{ python: string; venv: string; base: string }> {
  const { stdout } = await run('python3', ['-c', 'import sys; print(sys.base_prefix, sys.version, sep="\\n")']);
  const [base = '', version = ''] = stdout.split('\n');
  const key = createHash('sha256')
    .update(JSON.stringify([base, version, PACKAGES]))
    .digest('hex')
    .slice(0, 16);
  const venv = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'perdura', 'test-python', key);
  const python = join(venv, 'bin', 'python');
  if (!(await exists(`${venv}.complete`))) await make(venv, python);
  return { python, venv, base };
}

async function make(venv: string, python: string): Promise<void> {
  await rm(venv, { recursive: true, force: true });
  await mkdir(dirname(venv), { recursive: true });
  try {
    await run('python3', ['-m', 'venv', venv], { timeout: PATIENCE_MS });
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', ...PACKAGES];
    await run(python, install, { timeout: PATIENCE_MS });
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim().split('\n').slice(-3).join('\n') ?? '';
    throw new Error(`The Python environment of the tests could not be made (${PACKAGES.join(', ')}): ${said || error}`);
  }
  await writeFile(`${venv}.new`, '');
  await rename(`${venv}.new`, `${venv}.complete`);
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
