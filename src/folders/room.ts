import { statfs } from 'node:fs/promises';

const LOOK_MS = 50;
/**
 * A file system with less space counts as full: a program gives up at the first write that does not fit, which leaves some
 * space.
 */
const LEAST_BYTES = 1024 ** 2;

interface RoomWatch {
  /** Ends the watch; true if the file system was full at any time since it began. */
  end(): Promise<boolean>;
}

/**
 * Polls the file system of a directory for free space. Polling is needed: a program that finds no space may remove its files
 * when it ends.
 */
export function watchRoom(directory: string): RoomWatch {
  let full = false;
  const look = async () => {
    // If the service cannot look now, for instance because the directory has been removed, it counts as not full.
    full ||= await isFull(directory).catch(() => false);
  };
  const first = look();
  const timer = setInterval(() => void look(), LOOK_MS);
  return {
    async end() {
      clearInterval(timer);
      await first;
      await look();
      return full;
    },
  };
}

async function isFull(directory: string): Promise<boolean> {
  const { blocks, bfree, bavail, bsize, files, ffree } = await statfs(directory);
  const free = process.geteuid?.() === 0 ? bfree : bavail;
  // Some file systems report neither blocks nor files.
  return (blocks > 0 && free * bsize < LEAST_BYTES) || (files > 0 && ffree === 0);
}
