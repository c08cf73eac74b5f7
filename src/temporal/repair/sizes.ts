import { lstat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { SizeSample } from '../../domain/sizes.ts';
import { walkFolder } from '../../folders/walk.ts';
import type { Store } from '../../store/index.ts';
import { ENGINE_FILE } from '../names.ts';

/** The number of files above which the size of a folder is not determined. */
const MOST_FILES = 200_000;
const BLOCK_BYTES = 512;

/** Returns the room on the disk of a folder, in bytes. Throws if this machine does not have the folder. */
export async function measureDisk(folder: string): Promise<{ free: number; total: number }> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, total: blocks * bsize };
}

/** Measures the installation as this process sees it: the database, and the files in the home folder. */
export async function measureSizes(
  { sizes }: Pick<Store, 'sizes'>,
  { PERDURA_HOME: home }: { PERDURA_HOME: string },
  most_files = MOST_FILES,
): Promise<SizeSample> {
  const [database, engine, files, disk] = await Promise.all([
    sizes.database(),
    engineBytes(home),
    folderBytes(home, most_files),
    measureDisk(home).catch(() => null),
  ]);
  return { at: new Date().toISOString(), database, engine, home: files, disk_free: disk?.free ?? null };
}

/** Returns the bytes of the embedded engine's data; null if the engine is a server of the operator's. */
async function engineBytes(home: string): Promise<number | null> {
  const file = join(home, ENGINE_FILE);
  const [main, journal] = await Promise.all([getFileBytes(file), getFileBytes(`${file}-wal`)]);
  return main === null ? null : main + (journal ?? 0);
}

const getFileBytes = (path: string): Promise<number | null> =>
  lstat(path).then(
    ({ blocks }) => blocks * BLOCK_BYTES,
    () => null,
  );

/**
 * Returns the disk space of a folder's files; null if there is no folder, or too many files. Files that vanish or may not be read
 * do not count.
 */
async function folderBytes(folder: string, most_files: number): Promise<number | null> {
  if ((await getFileBytes(folder)) === null) return null;
  let [bytes, files] = [0, 0];
  await walkFolder(folder, {
    see({ stats }) {
      files += 1;
      if (!stats.isDirectory()) bytes += Number(stats.blocks) * BLOCK_BYTES;
      return files <= most_files;
    },
    miss: () => true,
  });
  return files > most_files ? null : bytes;
}
