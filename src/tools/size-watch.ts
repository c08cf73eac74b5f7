import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

const WATCH_MS = 500;

/** Measures a directory repeatedly, one measurement at a time. */
export function watchSize(directory: string, max_bytes: number, exceeded: () => void): AbortController {
  const ended = new AbortController();
  const look = async () => {
    if (ended.signal.aborted) return;
    if ((await bytesIn(directory)) > max_bytes) exceeded();
    else setTimeout(() => void look(), WATCH_MS).unref();
  };
  setTimeout(() => void look(), WATCH_MS).unref();
  return ended;
}

/** The files below a directory; 0 if it does not exist. */
export async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
