import { createCursor } from './cursor.ts';
import { type EntryName, openFolder, unlessExchanged } from './folder.ts';
import { walkFolder } from './walk.ts';

/** The owner's rights that reading needs. */
const DIRECTORY = 0o500;
const FILE = 0o400n;
const PERMISSIONS = 0o7777n;

/**
 * Gives the owner the right to read everything below a folder, which tools may have removed. Does nothing if there is no folder.
 * What cannot be changed is left as it is.
 */
export async function makeReadable(path: string): Promise<void> {
  const closed_files: EntryName[] = [];
  await walkFolder(path, {
    rights: DIRECTORY,
    see({ path: place, stats }) {
      if (stats.isFile() && (stats.mode & FILE) === 0n) closed_files.push(place);
      return true;
    },
    miss: () => true,
  }).catch(unlessExchanged);
  if (closed_files.length === 0) return;
  const root = await openFolder(path);
  const cursor = createCursor(root);
  try {
    for (const place of closed_files) {
      const end = place.lastIndexOf('/');
      const folder = await cursor.to(place.slice(0, Math.max(0, end)));
      await folder.changeMode(place.slice(end + 1), ({ mode }) => Number((mode & PERMISSIONS) | FILE)).catch(() => {});
    }
  } catch (error) {
    unlessExchanged(error);
  } finally {
    await cursor.close();
    await root.close();
  }
}
