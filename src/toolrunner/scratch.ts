import { chmod, chown, mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeFolder } from '../folders/remove.ts';
import type { User } from './settings.ts';

/** The runner's own directory: its sockets, the base of the sealed file system, and the files that calls write. */
export interface Scratch {
  dir: string;
  root: string;
  calls: string;
  socket(): string;
  remove(): Promise<void>;
}

const PREFIX = 'perdura-tools-';

/** Creates the directory. Also removes directories of killed runners, whose names contain the ids of their processes. */
export async function makeScratch(parent: string, owner: User | undefined): Promise<Scratch> {
  await removeStale(parent);
  const dir = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  const [root, calls] = [join(dir, 'root'), join(dir, 'calls')];
  // Calls that run as other users traverse these directories to reach their own.
  for (const [path, mode] of [
    [dir, 0o711],
    [root, 0o700],
    [calls, 0o711],
  ] as const) {
    await mkdir(path, { recursive: true });
    await chmod(path, mode);
    if (owner) await chown(path, owner.uid, owner.gid);
  }
  let sockets = 0;
  return {
    dir,
    root,
    calls,
    socket: () => join(dir, `zygote-${++sockets}.sock`),
    remove: () => removeFolder(dir),
  };
}

async function removeStale(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    // A directory that cannot be removed belongs to another user, whose runner will remove it.
    if (pid && !isRunning(pid)) await removeFolder(join(parent, name)).catch(() => {});
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
