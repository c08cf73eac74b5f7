import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createWhole, readIfThere } from './files.ts';
import { isAlive, markOf, type ProcessMark } from './processes.ts';

export type Locked = { held: true; release(): Promise<void> } | { held: false; holder: ProcessMark };

/** Takes a lock that names its holder. A holder that is gone has lost it, however it went. */
export async function takeLock(file: string): Promise<Locked> {
  const mine = JSON.stringify({ ...(await markOf(process.pid)), nonce: randomUUID() });
  for (;;) {
    if (await createWhole(file, mine)) return { held: true, release: () => release(file, mine) };
    const theirs = await readIfThere(file);
    if (theirs === undefined) continue;
    const holder = holderOf(theirs);
    if (holder && (await isAlive(holder))) return { held: false, holder };
    await remove(file, theirs);
  }
}

/** Waits for the lock; `onWait` hears once who has it. */
export async function waitForLock(file: string, onWait: (holder: ProcessMark) => void): Promise<() => Promise<void>> {
  for (let told = false; ; told = true) {
    const lock = await takeLock(file);
    if (lock.held) return lock.release;
    if (!told) onWait(lock.holder);
    await sleep(250);
  }
}

async function release(file: string, mine: string): Promise<void> {
  if ((await readIfThere(file)) === mine) await rm(file, { force: true });
}

/** Moved aside first: another start may have taken the stale lock over in this moment, and then gets its own back. */
async function remove(file: string, stale: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = await readIfThere(aside);
  if (moved !== undefined && moved !== stale) await createWhole(file, moved);
  await rm(aside, { force: true });
}

function holderOf(text: string): ProcessMark | undefined {
  try {
    const { pid, started } = JSON.parse(text) as Partial<ProcessMark>;
    return pid && started ? { pid, started } : undefined;
  } catch {
    return undefined;
  }
}
