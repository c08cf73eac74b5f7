import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { expect, it } from 'vitest';
import { cutStalled } from '../../src/api/http/slow-clients.ts';

const STALL_SECONDS = 8;

/** Plays the looks at a reply, each at half of the time: with the bytes that have left the service, or null while nothing waits. */
function lookAt(sent: (number | null)[]) {
  const server = new EventEmitter();
  cutStalled(server as Server, STALL_SECONDS);
  const socket = { bytesWritten: 0, writableLength: 0 };
  const periods = new Set<number>();
  let look = () => {};
  let is_cut = false;
  const response = {
    writableLength: 0,
    setTimeout(ms: number, listener?: () => void) {
      periods.add(ms);
      if (listener) look = listener;
    },
    destroy: () => {
      is_cut = true;
    },
  };
  server.emit('request', { socket }, response);
  const cuts = sent.map((bytes) => {
    // What waits in the service counts as written by Node.
    const waits = bytes === null ? 0 : 1_000;
    Object.assign(socket, { bytesWritten: (bytes ?? 0) + waits, writableLength: waits });
    response.writableLength = waits;
    look();
    return is_cut;
  });
  return { cuts, periods: [...periods] };
}

it.each<[string, (number | null)[], boolean[]]>([
  ['takes nothing', [0, 0], [false, true]],
  ['takes nothing any more', [0, 7, 7], [false, false, true]],
  ['takes a byte each time', [0, 1, 2, 3], [false, false, false, false]],
  ['takes something, and less waits at last', [5, 6, null, 6, 7], [false, false, false, false, false]],
  ['has nothing to take', [null, null, null], [false, false, false]],
  ['has something to take only now', [null, 3, 4], [false, false, false]],
])('a client that %s is cut off only after two looks without progress', (_, sent, cuts) => {
  expect(lookAt(sent)).toEqual({ cuts, periods: [STALL_SECONDS * 500] });
});
