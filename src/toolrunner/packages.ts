import { execFile } from 'node:child_process';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findInterpreter } from './interpreter.ts';

export interface ToolPackages {
  /** The installation's directory; the environment lives in `<home>/tools-venv`. */
  home: string;
  /** Requirement specifiers for pip; an empty list only creates the environment. */
  packages: readonly string[];
  /** The interpreter that creates the environment at first; by default `python3`. */
  python?: string;
}

const run = promisify(execFile);
const PATIENCE_MS = 15 * 60_000;
const OUTPUT = 16 * 1024 * 1024;

/**
 * Installs packages for tools. Resolves with the interpreter for `startToolRunner`'s option `python`; a running tool runner
 * notices packages that are installed later. `is_new` is true if the environment is new, so that no runner uses it yet.
 */
export async function installToolPackages({
  home,
  packages,
  python = 'python3',
}: ToolPackages): Promise<{ python: string; is_new: boolean }> {
  const invalid_name = packages.find((name) => !/^[A-Za-z0-9]/.test(name));
  if (invalid_name !== undefined) throw new Error(`"${invalid_name}" is not the name of a package`);
  const venv = join(home, 'tools-venv');
  const inside = join(venv, 'bin', 'python');
  const is_new = await access(inside).then(
    () => false,
    () => true,
  );
  if (is_new) await makeEnvironment(venv, python);
  if (packages.length === 0) return { python: inside, is_new };
  // Byte-compiled now, because the sandbox cannot write next to the source.
  const args = ['-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--compile', '--', ...packages];
  await attempt(`Installing ${packages.join(', ')} failed`, inside, args);
  return { python: inside, is_new };
}

/**
 * Creates the environment completely or not at all: if Python lacks a part, `venv` leaves an environment that cannot install
 * anything.
 */
async function makeEnvironment(venv: string, python: string): Promise<void> {
  const { executable } = await findInterpreter(python);
  try {
    await attempt('The environment for tools could not be made', executable, ['-m', 'venv', venv]);
  } catch (reason) {
    await rm(venv, { recursive: true, force: true });
    throw reason;
  }
}

async function attempt(failure: string, file: string, args: readonly string[]): Promise<void> {
  try {
    await run(file, [...args], { timeout: PATIENCE_MS, maxBuffer: OUTPUT });
  } catch (reason) {
    const { stdout = '', stderr = '' } = reason as { stdout?: string; stderr?: string };
    // `venv` reports errors on stdout, pip on stderr.
    const output_tail = (stderr.trim() || stdout.trim()).split('\n').slice(-8).join('\n');
    throw new Error(`${failure}${output_tail ? `: ${output_tail}` : ''}`, { cause: reason });
  }
}
