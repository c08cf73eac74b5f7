import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { RUN_MARK } from './run-mark.ts';

/**
 * Ensures that no process that a test starts outlives the run, however it ends. Vitest kills the processes that run the tests,
 * so these cannot end their children.
 */
export default function setup(): () => Promise<void> {
  const mark = randomBytes(6).toString('hex');
  const flags = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'reaper.ts')];
  const reaper = spawn(process.execPath, [...flags, mark, String(process.pid)], {
    detached: true,
    env: { PATH: process.env.PATH, ...(process.env.TMPDIR && { TMPDIR: process.env.TMPDIR }) },
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const ended = once(reaper, 'exit');
  process.env[RUN_MARK] = mark;
  reaper.unref();
  return async () => {
    reaper.ref();
    reaper.stdin.end();
    await ended;
  };
}
