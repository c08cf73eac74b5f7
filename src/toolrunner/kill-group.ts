import type { ChildProcess } from 'node:child_process';

/**
 * Ends a detached child and every process in its group, unless the child has been collected: its number may then belong to
 * another process.
 */
export function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
