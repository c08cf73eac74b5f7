import { setTimeout as wait } from 'node:timers/promises';
import type { Member } from './fleet.ts';
import type { Harm } from './harm.ts';

/** Faults that last while others happen. */
export interface Lasting {
  /** Each is false if the fault had no target. */
  holdUp(member: Member, ms: number): boolean;
  silence(cut: () => () => void, ms: number): boolean;
  takeConnections(harm: Harm, ms: number): Promise<boolean>;
  fillDisk(harm: Harm, ms: number): Promise<boolean>;
  /** Resolves when all have ended. */
  over(): Promise<void>;
}

const TRY_AGAIN_MS = 500;

export function lastingFaults(): Lasting {
  const held = new Set<Promise<void>>();
  let used_up = 0;
  let filled = 0;

  const after = (ms: number, end: () => unknown) => {
    const going = wait(ms)
      .then(end)
      .then(() => void held.delete(going));
    held.add(going);
    return true;
  };

  return {
    holdUp(member, ms) {
      const pid = member.pid();
      if (!member.signal('SIGSTOP')) return false;
      return after(ms, () => member.pid() === pid && member.signal('SIGCONT'));
    },
    silence: (cut, ms) => after(ms, cut()),
    async takeConnections({ role }, ms) {
      used_up += 1;
      // The database may be down, before or after.
      await role.exhaust().catch(() => {});
      return after(ms, async () => {
        used_up -= 1;
        if (used_up === 0) await insisted(role.giveBack);
      });
    },
    async fillDisk({ disk }, ms) {
      if (!disk) return false;
      filled += 1;
      await disk.fill();
      return after(ms, () => {
        filled -= 1;
        if (filled === 0) disk.makeRoom();
      });
    },
    over: async () => void (await Promise.all(held)),
  };
}

/** The database may be down at that moment. */
async function insisted(work: () => Promise<void>): Promise<void> {
  while (
    await work().then(
      () => false,
      () => true,
    )
  )
    await wait(TRY_AGAIN_MS);
}
