import { join } from 'node:path';
import { takeLock } from './lock-file.ts';

const UNWRITABLE: Record<string, string> = {
  EROFS: 'its file system is read-only',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  ENOSPC: 'its disk is full',
  EDQUOT: 'the quota of its disk is used up',
  ENOTDIR: 'it is not a directory',
  EEXIST: 'it is not a directory',
};

/**
 * Locks the home: two running installations would write to the same data. Throws a sentence that names the process that has the
 * lock, or the reason why the home cannot be written to.
 */
export async function lockInstallation(home: string): Promise<{ release(): Promise<void> }> {
  const lock = await takeLock(join(home, 'dev.lock')).catch((error: NodeJS.ErrnoException) => {
    const why = UNWRITABLE[error.code!] ?? error.message;
    throw new Error(
      `Perdura cannot write to its home ${home}: ${why}. Make it writable, or choose another home with PERDURA_HOME.`,
    );
  });
  if (lock.held) return lock;
  throw new Error(
    `Perdura is already running from ${home} as process ${lock.holder.pid}. Stop it first, or choose another home.`,
  );
}
