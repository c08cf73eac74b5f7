import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat, truncate } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWhole, readIfExists } from './files.ts';
import { findMark, isAlive, type ProcessMark } from './processes.ts';

type LockResult = { held: true; release(): Promise<void> } | { held: false; holder: ProcessMark };

/**
 * Takes a lock that names its holder. A holder whose process has ended, for whatever reason, no longer has the lock. Each
 * attempt creates a separate file, `<file>.<number>`, and the highest number has the lock. A stale lock is outnumbered, never
 * removed: if two processes removed it, the slower one would remove the faster one's lock. Only a holder removes files, and
 * only those with lower numbers, so a process that reuses a number finds a higher one above it.
 */
export async function takeLock(file: string): Promise<LockResult> {
  await mkdir(dirname(file), { recursive: true });
  const folder = await getIdentity(dirname(file));
  const mine = JSON.stringify({ ...(await findMark(process.pid)), nonce: randomUUID(), folder });
  for (;;) {
    const last = (await listNumbers(file)).at(-1) ?? 0;
    const holder = last > 0 ? parseHolder((await readIfExists(toLockPath(file, last))) ?? '', folder) : undefined;
    if (holder && (await isAlive(holder))) return { held: false, holder };
    const number = last + 1;
    if (!(await createWhole(toLockPath(file, number), mine))) continue;
    const others = (await listNumbers(file)).filter((other) => other !== number);
    if (others.some((other) => other > number)) {
      await rm(toLockPath(file, number), { force: true });
      continue;
    }
    for (const lower of others) await rm(toLockPath(file, lower), { force: true });
    return { held: true, release: () => release(toLockPath(file, number)) };
  }
}

/** Waits for the lock; calls `onWait` once with its holder. */
export async function waitForLock(file: string, onWait: (holder: ProcessMark) => void): Promise<() => Promise<void>> {
  for (let is_reported = false; ; is_reported = true) {
    const lock = await takeLock(file);
    if (lock.held) return lock.release;
    if (!is_reported) onWait(lock.holder);
    await sleep(250);
  }
}

/** Releases the lock. Its file is emptied and not removed, so that its number is not reused. */
async function release(file: string): Promise<void> {
  try {
    await truncate(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

const toLockPath = (file: string, number: number): string => `${file}.${number}`;

/** Lists the numbers of the lock's files, ascending. */
async function listNumbers(file: string): Promise<number[]> {
  const prefix = `${basename(file)}.`;
  const names = (await readdir(dirname(file))).filter((name) => name.startsWith(prefix));
  return names
    .map((name) => name.slice(prefix.length))
    .filter((end) => /^[1-9]\d*$/.test(end))
    .map(Number)
    .sort((a, b) => a - b);
}

/** Returns the identity of a folder. It survives a move of the folder; a copy of the folder has another one. */
async function getIdentity(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Returns the holder of a lock; undefined if the lock was released (an empty file), was copied along with its folder, or is not
 * Perdura's.
 */
function parseHolder(text: string, here: string): ProcessMark | undefined {
  try {
    const { pid, started, folder = here } = JSON.parse(text) as Partial<ProcessMark & { folder: string }>;
    return pid && started && folder === here ? { pid, started } : undefined;
  } catch {
    return undefined;
  }
}
