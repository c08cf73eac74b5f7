import { join } from 'node:path';
import { takeLock } from './lock-file.ts';

/** One running installation per home: two would write to the same data. Throws a sentence that names the process that has it. */
export async function lockInstallation(home: string): Promise<{ release(): Promise<void> }> {
  const lock = await takeLock(join(home, 'dev.lock'));
  if (lock.held) return lock;
  throw new Error(
    `Perdura is already running from ${home} as process ${lock.holder.pid}. Stop it first, or choose another home.`,
  );
}
