import { MISSED, type Notice } from './bus.ts';

/** Parses a notice from the wire. An invalid or empty one means that some may have been missed. */
export function noticeOf(payload: string): Notice {
  try {
    return payload ? (JSON.parse(payload) as Notice) : MISSED;
  } catch {
    return MISSED;
  }
}
