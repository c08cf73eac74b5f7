import { MISSED, type Notice } from './bus.ts';

/** Parses a notice from the wire, once for all its listeners. An invalid or empty one means that some may have been missed. */
export function noticeOf(payload: string): Notice {
  try {
    return payload ? { ...(JSON.parse(payload) as Notice), bytes: payload.length } : MISSED;
  } catch {
    return MISSED;
  }
}

interface TextNotice extends Notice {
  workflow_id: string;
}

/** Parses the texts of several runs from the wire; one that is lost is found in the record. */
export function textsOf(payload: string): TextNotice[] {
  try {
    const texts = JSON.parse(payload) as TextNotice[];
    return texts.map((text) => ({ ...text, bytes: Math.ceil(payload.length / texts.length) }));
  } catch {
    return [];
  }
}
