// This is a part of bin/perdura.mjs, and therefore plain JavaScript too: nothing is installed yet.
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Holds the lock of a folder while work runs; calls `onWait` once, with the holder, if the lock is taken. */
export async function holdingLock(folder, work, onWait) {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  let lock = take(folder);
  if (!lock.mine) onWait(lock.holder);
  while (!lock.mine) {
    await new Promise((done) => setTimeout(done, 500));
    lock = take(folder);
  }
  try {
    return await work();
  } finally {
    // The file is emptied and not removed, so that its number is not reused.
    if (existsSync(lock.mine)) truncateSync(lock.mine);
  }
}

/**
 * Tries to take the lock. The file with the highest number has it, as in src/embedded/lock-file.ts. A stale lock is outnumbered
 * and never removed: if two processes removed it, the slower one would remove the faster one's lock.
 */
function take(folder) {
  const place = (number) => join(folder, `install.lock.${number}`);
  const numbers = () =>
    readdirSync(folder).flatMap((name) => /^install\.lock\.([1-9]\d*)$/.exec(name)?.slice(1).map(Number) ?? []);
  for (;;) {
    const last = Math.max(0, ...numbers());
    const holder = last > 0 && livingHolder(place(last));
    if (holder) return { holder };
    const mine = place(last + 1);
    if (!createWhole(mine, String(process.pid))) continue;
    const others = numbers().filter((number) => number !== last + 1);
    const outnumbered = others.some((number) => number > last);
    for (const path of outnumbered ? [mine] : others.map(place)) rmSync(path, { force: true });
    if (!outnumbered) return { mine };
  }
}

/** Creates a file with its whole content in one step. Returns false if the file exists. */
function createWhole(file, text) {
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, text);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft);
  }
}

/**
 * Returns the holder of a lock; undefined if the lock was released (an empty file) or its process is gone. An old lock counts
 * as released too: after a restart of a container, another process may have the same id.
 */
function livingHolder(file) {
  let holder;
  try {
    holder = Number(readFileSync(file, 'utf8'));
    if (!holder || holder === process.pid || Date.now() - statSync(file).mtimeMs > 20 * 60_000) return undefined;
    process.kill(holder, 0);
  } catch (error) {
    if (error.code === 'ESRCH' || error.code === 'ENOENT') return undefined;
    // EPERM means that another user's process has this id, so it is alive.
    if (error.code !== 'EPERM') throw error;
  }
  return holder;
}
