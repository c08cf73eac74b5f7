import { createHash } from 'node:crypto';
import type { Priority } from '@temporalio/common';

/** The longest key that the engine accepts, in bytes. */
const KEY_BYTES = 64;
/** The priority of scheduled work, from 1 to 5: smaller goes first, and the engine gives 3 to work without a priority. */
const SCHEDULED = 4;

/** Returns a priority that makes the waiting work of different owners take turns, however much each has. */
export const toOwnerPriority = (owner: string): Priority => ({
  fairnessKey: Buffer.byteLength(owner) <= KEY_BYTES ? owner : createHash('sha256').update(owner).digest('hex'),
});

/** Returns the priority of an evaluation, which its runs inherit: nobody waits for one of them. */
export const evaluationPriority = (owner: string): Priority => ({ ...toOwnerPriority(owner), priorityKey: SCHEDULED });

/** Returns the priority of a run, which its activities inherit. A scheduled run waits behind runs that somebody waits for. */
export const runPriority = ({ principal, trigger }: { principal: string; trigger: string }): Priority => ({
  ...toOwnerPriority(principal),
  ...(trigger === 'schedule' ? { priorityKey: SCHEDULED } : {}),
});
