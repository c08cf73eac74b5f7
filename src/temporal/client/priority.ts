import { createHash } from 'node:crypto';
import type { Priority } from '@temporalio/common';

/** The longest key that the engine accepts, in bytes. */
const KEY_BYTES = 64;
/** Of 1 to 5, smaller goes first; 3 is what the engine gives to work without a priority. */
const SCHEDULED = 4;

/** Waiting work of different owners takes turns, however much each has. */
export const toOwnerPriority = (owner: string): Priority => ({
  fairnessKey: Buffer.byteLength(owner) <= KEY_BYTES ? owner : createHash('sha256').update(owner).digest('hex'),
});

/** Of an evaluation, whose runs inherit it: nobody waits for one of them. */
export const evaluationPriority = (owner: string): Priority => ({ ...toOwnerPriority(owner), priorityKey: SCHEDULED });

/** A run's priority; its activities inherit it. A run that a schedule started waits behind runs that somebody waits for. */
export const runPriority = ({ principal, trigger }: { principal: string; trigger: string }): Priority => ({
  ...toOwnerPriority(principal),
  ...(trigger === 'schedule' ? { priorityKey: SCHEDULED } : {}),
});
