import { spawn } from 'node:child_process';
import { chmodSync, chownSync, rmSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { folderOfRun } from '../harness/run-mark.ts';
import { baseEnv } from './processes.ts';
import { SYSTEM_PYTHON } from './system-python.ts';

/** Adopts every orphan below it, so that whatever a program leaves running stays its descendant; ends with the program. */
const REAPER = `
import ctypes, os, sys
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
child = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
while True:
    pid, status = os.wait()
    if pid == child:
        os._exit(os.waitstatus_to_exitcode(status) & 255)
`;

interface BelowReaper {
  /** The user it runs as; by default, the user of the tests. */
  user?: { uid: number; gid: number } | undefined;
  /** More variables. */
  env?: Record<string, string>;
}

/**
 * Runs a Node program that prints JSON, and returns that. The parent of the program adopts orphans, and its TMPDIR is a separate
 * folder, which is removed.
 */
export async function runBelowReaper<T>(
  program: string,
  args: readonly string[],
  { user, env = {} }: BelowReaper = {},
): Promise<T> {
  const folder = await folderOfRun('machine-');
  chmodSync(folder, 0o711);
  if (user) chownSync(folder, user.uid, user.gid);
  const flags = ['--disable-warning=ExperimentalWarning', program, ...args];
  const child = spawn(SYSTEM_PYTHON, ['-I', '-c', REAPER, process.execPath, ...flags], {
    env: { ...baseEnv(), ...(user && { HOME: folder }), TMPDIR: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
  try {
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    if (!out) throw new Error(`${program} printed nothing: ${errors}`);
    return JSON.parse(out) as T;
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}
