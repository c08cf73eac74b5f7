import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts a process. Rejects with the system's `code` if it cannot: without a free descriptor, Node returns a child that has no
 * pipes.
 */
export async function launchProcess(file: string, args: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const child = spawn(file, args, options);
  await once(child, 'spawn');
  return child;
}
