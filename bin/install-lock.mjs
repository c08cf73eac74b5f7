// Like bin/perdura.mjs, whose part it is: plain JavaScript, since nothing is installed yet.
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

/** Holds the lock of a folder during some work; `onWait` hears once who has it. */
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
    // Emptied, not removed: its number is not to be given again.
    if (existsSync(lock.mine)) truncateSync(lock.mine);
  }
}

/**
 * The highest of numbered files has the lock, as in src/embedded/lock-file.ts: one that is stale is outnumbered, and not
 * removed to be taken, since of two that remove it the slower one removes the lock of the faster.
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

/** Creates a file with its whole content in one step; false when there is one already. */
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
 * Nobody, for a lock that was released (an empty file) and for one whose process is gone. The age counts too, because after
 * a restart of a container the same process id belongs to somebody else.
 */
function livingHolder(file) {
  let holder;
  try {
    holder = Number(readFileSync(file, 'utf8'));
    if (!holder || holder === process.pid || Date.now() - statSync(file).mtimeMs > 20 * 60_000) return undefined;
    process.kill(holder, 0);
  } catch (error) {
    if (error.code === 'ESRCH' || error.code === 'ENOENT') return undefined;
    // Somebody else's process is alive, too.
    if (error.code !== 'EPERM') throw error;
  }
  return holder;
}
