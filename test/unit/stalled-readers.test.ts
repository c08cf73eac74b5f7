import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { cutStalled, refuseRaw } from '../../src/api/http/slow-clients.ts';

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

it.each<[string, string | undefined, object, string | null]>([
  ['that is no request', undefined, {}, 'HTTP/1.1 400 Bad Request'],
  ['that is malformed', 'HPE_INVALID_METHOD', {}, 'HTTP/1.1 400 Bad Request'],
  ['with large headers', 'HPE_HEADER_OVERFLOW', {}, 'HTTP/1.1 431 Request Header Fields Too Large'],
  ['of a client that has gone', 'ECONNRESET', {}, null],
  ['of a connection that is closed', 'HPE_INVALID_METHOD', { destroyed: true }, null],
  ['of a client that reads nothing any more', 'HPE_INVALID_METHOD', { writable: false }, 'closed'],
])('what arrives %s is answered if anybody listens', (_, code, state, expected) => {
  const seen: string[] = [];
  const socket = {
    ...{ destroyed: false, writable: true, ...state },
    write: (text: string) => void seen.push(text.split('\r\n')[0]!),
    destroySoon: () => void seen.push('closed'),
  };
  refuseRaw(Object.assign(new Error('x'), { code }) as Error, socket as unknown as Socket);
  expect(seen).toEqual(expected === null ? [] : [...new Set([expected, 'closed'])]);
});
