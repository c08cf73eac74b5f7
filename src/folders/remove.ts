import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { type EntryName, type Folder, openFolder, unlessExchanged } from './folder.ts';

/** A folder that is still full after so many rounds is left to the next attempt: something writes in it. */
const ROUNDS = 10_000;
const AT_ONCE = 8;
/** The owner's rights that removing takes. */
const TO_EMPTY = 0o700;

/** Removes a folder with everything in it, also if something that a tool has left running changes it meanwhile. Nothing happens if there is none. */
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
  // Most are empty, which takes one call.
  const refused = await refusal(parent.removeDirectory(name));
  if (refused === null || refused.code === 'ENOENT') return;
  const folder = await parent.enter(name, TO_EMPTY).catch(unlessExchanged);
  if (!folder) return parent.unlink(name);
  try {
    await empty(folder, path);
  } finally {
    await folder.close();
  }
  await parent.removeDirectory(name).catch(unlessExchanged);
}

/** Directories are moved up before they are emptied, so any depth takes two descriptors. */
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
  if (await isUnlinked(folder, name)) return;
  const inner = await folder.enter(name).catch(unlessExchanged);
  if (!inner) return;
  try {
    for (const child of (await inner.names().catch(unlessExchanged)) ?? [])
      if (!(await isUnlinked(inner, child))) await moveUp(inner, child, folder);
  } finally {
    await inner.close();
  }
  // If it has been filled again, the next round finds it.
  await refusal(folder.removeDirectory(name));
}

/** False for a directory. */
async function isUnlinked(folder: Folder, name: EntryName): Promise<boolean> {
  const error = await refusal(folder.unlink(name));
  if (error === null || error.code === 'ENOENT') return true;
  // Linux answers EISDIR, other systems EPERM.
  if (error.code === 'EISDIR' || (await folder.stat(name).catch(unlessExchanged))?.isDirectory() !== false) return false;
  throw error;
}

async function moveUp(from: Folder, name: EntryName, into: Folder): Promise<void> {
  const move = () => from.move(name, into, randomUUID());
  const refused = await refusal(move());
  if (refused?.code === 'EACCES') {
    // Only who may write in a directory may move it: entering it gives that right.
    await (await from.enter(name).catch(unlessExchanged))?.close();
    await move().catch(unlessExchanged);
  } else if (refused) unlessExchanged(refused);
}

const refusal = (work: Promise<void>): Promise<NodeJS.ErrnoException | null> =>
  work.then(
    () => null,
    (error) => error,
  );
