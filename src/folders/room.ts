import { statfs } from 'node:fs/promises';

const LOOK_MS = 50;
/** With less, a file system counts as full: a program gives up at the first write that finds no room, which leaves some. */
const LEAST_BYTES = 1024 ** 2;

interface RoomWatch {
  /** Whether the file system was full at any time since the watch began. */
  end(): Promise<boolean>;
}

/** Looks at the file system of a directory again and again: a program that finds no room removes what it has written when it ends. */
export function watchRoom(directory: string): RoomWatch {
  let full = false;
  const look = async () => {
    // If the service cannot look now, for instance because the directory is not there any more, it has seen nothing.
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
  // Some file systems count neither.
  return (blocks > 0 && free * bsize < LEAST_BYTES) || (files > 0 && ffree === 0);
}
