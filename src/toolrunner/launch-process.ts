import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts a process; rejects with the system's `code` on failure. Without a free descriptor, Node returns a child without pipes.
 */
export async function launchProcess(file: string, args: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const child = spawn(file, args, options);
  await once(child, 'spawn');
  return child;
}
