import { MISSED, type Notice, type PlacedChange } from './bus.ts';

/** Parses a notice from the wire, once for all its listeners. An invalid or empty notice means that some may have been missed. */
export function parseNotice(payload: string): Notice {
  try {
    return payload ? { ...(JSON.parse(payload) as Notice), bytes: payload.length } : MISSED;
  } catch {
    return MISSED;
  }
}

/** A notice with its workflow, for a channel that all workflows share. */
export interface PlacedNotice extends Notice {
  workflow_id: string;
}

/** Parses the notices of a packet. The events of an invalid notice are still found in the record. */
export function parsePacket(packet: string): PlacedNotice[] {
  try {
    const notices = JSON.parse(packet) as PlacedNotice[];
    return notices.map((notice) => ({ ...notice, bytes: Math.ceil(packet.length / notices.length) }));
  } catch {
    return [];
  }
}

/** Parses a packet of changes. Null, also for an invalid one, means that some may have been missed. */
export function parseChanges(packet: string): (PlacedChange | null)[] {
  try {
    return packet ? (JSON.parse(packet) as PlacedChange[]) : [null];
  } catch {
    return [null];
  }
}

/** Joins JSON notices, in order, into packets of at most `most` bytes. */
export function packNotices(notices: readonly string[], most: number): string[] {
  const packets: string[][] = [];
  let size = most;
  for (const notice of notices) {
    const bytes = Buffer.byteLength(notice) + 1;
    if (size + bytes > most) {
      packets.push([]);
      size = 1;
    }
    packets.at(-1)?.push(notice);
    size += bytes;
  }
  return packets.map((packet) => `[${packet.join(',')}]`);
}
