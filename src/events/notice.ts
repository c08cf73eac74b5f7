import { MISSED, type Notice } from './bus.ts';

/** A notice as it came over the wire; what does not parse, or carries nothing, means that some may have been missed. */
export function noticeOf(payload: string): Notice {
  try {
    return payload ? (JSON.parse(payload) as Notice) : MISSED;
  } catch {
    return MISSED;
  }
}
