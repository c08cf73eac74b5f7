import { MISSED, type Notice } from './bus.ts';

/** Parses a notice from the wire. An invalid or empty one means that some may have been missed. */
export function noticeOf(payload: string): Notice {
  try {
    return payload ? (JSON.parse(payload) as Notice) : MISSED;
  } catch {
    return MISSED;
  }
}

/** Parses the texts of several runs from the wire; one that is lost is found in the record. */
export function textsOf(payload: string): (Notice & { workflow_id: string })[] {
  try {
    return JSON.parse(payload) as (Notice & { workflow_id: string })[];
  } catch {
    return [];
  }
}
