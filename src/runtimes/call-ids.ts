import { createHash } from 'node:crypto';

const OWN = /^(\d+)-(\d+)$/;

/** Returns a call's id as nine letters and digits: the same for the same call, and a different one for every other call. */
export function strictCallId(call_id: string): string {
  const [, step, index] = OWN.exec(call_id) ?? [];
  const id = step && index ? `${base36(step).padStart(6, '0')}${base36(index).padStart(3, '0')}` : '';
  return id.length === 9 ? id : createHash('sha256').update(call_id).digest('hex').slice(0, 9);
}

const base36 = (digits: string) => Number(digits).toString(36);
