import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findInterpreter } from './interpreter.ts';

export interface ToolPackages {
  /** The installation's directory; the environment lives in `<home>/tools-venv`. */
  home: string;
  /** Requirement specifiers, as pip takes them; none only makes the environment. */
  packages: readonly string[];
  /** The interpreter the environment is made from, the first time. Default `python3`. */
  python?: string;
}

const run = promisify(execFile);
const PATIENCE_MS = 15 * 60_000;
const OUTPUT = 16 * 1024 * 1024;

/** Installs packages for tools; resolves with the interpreter to give `startToolRunner` as `python`. A running runner notices. */
export async function installToolPackages({
  home,
  packages,
  python = 'python3',
}: ToolPackages): Promise<{ python: string; output: string }> {
  const refused = packages.find((name) => !/^[A-Za-z0-9]/.test(name));
  if (refused !== undefined) throw new Error(`"${refused}" is not the name of a package`);
  const venv = join(home, 'tools-venv');
  const inside = join(venv, 'bin', 'python');
  const made = await access(inside).then(
    () => true,
    () => false,
  );
  if (!made) {
    const { executable } = await findInterpreter(python);
    await attempt('The environment for tools could not be made', executable, ['-m', 'venv', venv]);
  }
  if (packages.length === 0) return { python: inside, output: '' };
  // Byte-compiled now, because inside the sandbox nothing can be written next to it.
  const args = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--compile', '--', ...packages];
  const output = await attempt(`Installing ${packages.join(', ')} failed`, inside, args);
  return { python: inside, output };
}

async function attempt(failure: string, file: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(file, [...args], { timeout: PATIENCE_MS, maxBuffer: OUTPUT });
    return stdout;
  } catch (reason) {
    const said = (reason as { stderr?: string }).stderr?.trim().split('\n').slice(-5).join('\n') ?? '';
    throw new Error(`${failure}${said ? `: ${said}` : ''}`, { cause: reason });
  }
}
