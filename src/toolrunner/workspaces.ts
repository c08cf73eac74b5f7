import { basename, dirname } from 'node:path';
import { type EntryName, type Folder, openFolder, unlessExchanged } from '../folders/folder.ts';
import { WorkspaceOutside } from './job.ts';
import { type Tier, TOOL_GID } from './settings.ts';

const GROUP_FILE = 0o060;
const GROUP_DIRECTORY = 0o2070;
const PERMISSIONS = 0o7777n;

/**
 * Lets tools write in a workspace that the service created as root: gives the tools' group the owner's permissions. The group
 * of the top directory is set last and marks the work as done; another call that began at the same time may already run in it
 * by then.
 */
export const shareWorkspace = (dir: string): Promise<void> =>
  asRoot(dir, async (parent, name) => {
    const { gid } = await parent.stat(name);
    if (gid !== BigInt(TOOL_GID)) await share(parent, name);
  });

/**
 * Lets a command write in the folder of its state. If every process has another user of the tools' group, what the last one has
 * created is shared again.
 */
export const shareState = (dir: string, tier: Tier): Promise<void> =>
  tier === 'landlock' ? asRoot(dir, share) : shareWorkspace(dir);

/** Shares only the top directory of a workspace whose files were shared before and have kept their permissions. */
export const shareTop = (dir: string): Promise<void> =>
  asRoot(dir, async (parent, name) => {
    await giveToGroup(parent, name);
    await parent.setOwner(name, 0, TOOL_GID);
  });

async function asRoot(dir: string, work: (parent: Folder, name: EntryName) => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const parent = await openFolder(dirname(dir)).catch(outside);
  try {
    await work(parent, basename(dir)).catch(outside);
  } finally {
    await parent.close();
  }
}

/** Throws the failure. A missing directory is the caller's mistake; any other failure is the machine's, and keeps its `code`. */
function outside(reason: NodeJS.ErrnoException): never {
  if (reason.code === 'ENOENT' || reason.code === 'ENOTDIR')
    throw new WorkspaceOutside(`the workspace cannot be used: ${reason.message}`);
  throw reason;
}

async function share(parent: Folder, name: EntryName): Promise<void> {
  const { uid } = await parent.stat(name);
  const folder = await parent.enter(name).catch(unlessExchanged);
  try {
    for (const child of (await folder?.names().catch(unlessExchanged)) ?? []) await share(folder!, child).catch(unlessExchanged);
  } finally {
    await folder?.close();
  }
  await giveToGroup(parent, name);
  await parent.setOwner(name, Number(uid), TOOL_GID);
}

/** Gives an entry to the tools' group. Links stay unchanged. */
async function giveToGroup(parent: Folder, name: EntryName): Promise<void> {
  await parent.changeMode(name, (stats) => {
    return Number(stats.mode & PERMISSIONS) | (stats.isDirectory() ? GROUP_DIRECTORY : GROUP_FILE);
  });
}
