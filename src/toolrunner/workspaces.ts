import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspaceOutside } from './job.ts';
import { TOOL_GID } from './settings.ts';

const GROUP_FILE = 0o060;
const GROUP_DIRECTORY = 0o2070;

/**
 * Lets tools write in a workspace that the service made as root: gives the tools' group the owner's permissions. Done once, before
 * anything untrusted has run in it; the group of the top directory is set last and marks it as done.
 */
export async function shareWorkspace(dir: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  try {
    if ((await lstat(dir)).gid !== TOOL_GID) await share(dir);
  } catch (reason) {
    throw new WorkspaceOutside(`the workspace cannot be used: ${(reason as Error).message}`);
  }
}

/** The same for a workspace whose files have been shared before and have kept their permissions. */
export async function shareTop(dir: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  await chmod(dir, ((await lstat(dir)).mode & 0o7777) | GROUP_DIRECTORY);
  await lchown(dir, 0, TOOL_GID);
}

async function share(path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory()) {
    for (const name of await readdir(path)) await share(join(path, name));
    await chmod(path, (found.mode & 0o7777) | GROUP_DIRECTORY);
  } else if (found.isFile()) {
    await chmod(path, (found.mode & 0o7777) | GROUP_FILE);
  }
  await lchown(path, found.uid, TOOL_GID);
}
