import { MISSED, type Notice } from './bus.ts';

/**
 * Parses notices from the wire. The listeners of a channel get a payload one after the other and share its notice: with thousands of
 * streams of one workflow, copies would need as much memory as thousands of workflows.
 */
export function noticeReader(): (payload: string) => Notice {
  let last = '';
  let notice = MISSED;
  return (payload) => {
    if (payload !== last) notice = noticeOf(payload);
    last = payload;
    return notice;
  };
}

/** An invalid or empty payload means that some notices may have been missed. */
function noticeOf(payload: string): Notice {
  try {
    return payload ? { ...(JSON.parse(payload) as Notice), bytes: payload.length } : MISSED;
  } catch {
    return MISSED;
  }
}
