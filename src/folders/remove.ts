import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { type EntryName, type Folder, openFolder, unlessExchanged } from './folder.ts';

/** The most rounds. A folder that is still not empty then is left to the next attempt: something keeps writing in it. */
const ROUNDS = 10_000;
const AT_ONCE = 8;
/** The owner's rights that removing needs. */
const TO_EMPTY = 0o700;

/**
 * Removes a folder with everything in it, even if a process that a tool left running changes it meanwhile. Does nothing if
 * there is no folder.
 */
export async function removeFolder(path: string): Promise<void> {
  const parent = await openFolder(dirname(path)).catch(unlessExchanged);
  if (!parent) return;
  try {
    await removeTree(parent, basename(path), path);
  } finally {
    await parent.close();
  }
}

async function removeTree(parent: Folder, name: EntryName, path: string): Promise<void> {
  // Most directories are empty, and then one call is enough.
  const error = await refusal(parent.removeDirectory(name));
  if (error === null || error.code === 'ENOENT') return;
  const folder = await parent.enter(name, TO_EMPTY).catch(unlessExchanged);
  if (!folder) return parent.unlink(name);
  try {
    await empty(folder, path);
  } finally {
    await folder.close();
  }
  await parent.removeDirectory(name).catch(unlessExchanged);
}

/** Empties a folder. Directories are moved up before they are emptied, so any depth takes two descriptors. */
async function empty(folder: Folder, path: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const names = (await folder.names().catch(unlessExchanged)) ?? [];
    if (names.length === 0) return;
    for (let next = 0; next < names.length; next += AT_ONCE)
      await Promise.all(names.slice(next, next + AT_ONCE).map((name) => removeEntry(folder, name)));
  }
  throw new Error(`${path} could not be removed: something writes in it`);
}

async function removeEntry(folder: Folder, name: EntryName): Promise<void> {
  if (await tryUnlink(folder, name)) return;
  const inner = await folder.enter(name).catch(unlessExchanged);
  if (!inner) return;
  try {
    for (const child of (await inner.names().catch(unlessExchanged)) ?? [])
      if (!(await tryUnlink(inner, child))) await moveUp(inner, child, folder);
  } finally {
    await inner.close();
  }
  // If the directory has been filled again, the next round finds it.
  await refusal(folder.removeDirectory(name));
}

/** Removes an entry that is not a directory; returns false for a directory. */
async function tryUnlink(folder: Folder, name: EntryName): Promise<boolean> {
  const error = await refusal(folder.unlink(name));
  if (error === null || error.code === 'ENOENT') return true;
  // For a directory, Linux answers EISDIR, and other systems EPERM.
  if (error.code === 'EISDIR' || (await folder.stat(name).catch(unlessExchanged))?.isDirectory() !== false) return false;
  throw error;
}

async function moveUp(from: Folder, name: EntryName, into: Folder): Promise<void> {
  const move = () => from.move(name, into, randomUUID());
  const error = await refusal(move());
  if (error?.code === 'EACCES') {
    // Moving a directory needs write permission in it, which entering it restores.
    await (await from.enter(name).catch(unlessExchanged))?.close();
    await move().catch(unlessExchanged);
  } else if (error) unlessExchanged(error);
}

const refusal = (work: Promise<void>): Promise<NodeJS.ErrnoException | null> =>
  work.then(
    () => null,
    (error) => error,
  );
