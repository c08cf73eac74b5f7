import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findOutsideRefusal } from '../../src/domain/outside.ts';
import { getReason } from '../../src/domain/reason.ts';
import { limitFetchBytes } from '../../src/egress/counted-fetch.ts';
import { createGuardedFetch, type GuardedFetch } from '../../src/egress/guarded-fetch.ts';

const LIMITS = { message: 1_000, stream: 5_000, error: 100, headers: 2_000 };
const EVENTS = { 'content-type': 'text/event-stream' };

const WAYS: Record<string, (response: ServerResponse) => void> = {
  '/small': (response) => response.end('x'.repeat(1_000)),
  '/large': (response) => response.end('x'.repeat(1_001)),
  '/error': (response) => response.writeHead(500).end('x'.repeat(100_000)),
  '/nothing': (response) => response.writeHead(204).end(),
  '/bomb': (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(1_000_000))),
  // Each member is 20 bytes that unpack to none.
  '/husks': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.concat(Array.from({ length: 1_000 }, () => gzipSync('')))),
  '/headers': (response) => response.writeHead(200, { 'x-long': 'x'.repeat(3_000) }).end('ok'),
  '/events': (response) => response.writeHead(200, EVENTS).end(`data: ${'x'.repeat(900)}\n\n`.repeat(5)),
  '/flood': (response) => response.writeHead(200, EVENTS).end('data: x\n\n'.repeat(1_000)),
  '/line': (response) => response.writeHead(200, EVENTS).end(`data: ${'x'.repeat(1_000)}\n\n`),
  '/endless-line': (response) => response.writeHead(200, EVENTS).end('x'.repeat(1_001)),
  '/lines': (response) => response.writeHead(200, EVENTS).end(`${'data: x\r\n'.repeat(200)}\r\n`),
  '/round': (response) => response.writeHead(302, { location: '/round' }).end(),
};

const server = createServer(({ url = '' }, response) => WAYS[url]?.(response));
let at: string;
let guarded: GuardedFetch;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  guarded = createGuardedFetch(['127.0.0.1'], new Set(), LIMITS);
});
afterAll(async () => {
  await guarded.close();
  server.close();
});

const read = async (path: string, method = 'POST') =>
  guarded
    .fetch(`${at}${path}`, { method })
    .then((response) => response.text())
    .then(
      (text) => text.length,
      (error: Error) => findOutsideRefusal(error)?.message ?? getReason(error),
    );

describe('what is read', () => {
  it.each([
    ['/small', 1_000],
    ['/large', 'an answer of more than 1 KiB is not read'],
    ['/error', 100],
    ['/nothing', 0],
    ['/bomb', 'an answer of more than 1 KiB is not read'],
    ['/husks', 'a compressed answer of more than 5 KiB is not read'],
    ['/headers', 'headers of more than 2 KiB is not read'],
    ['/events', 4_540],
    ['/flood', 'a stream of more than 5 KiB is not read'],
    ['/line', 'an event of more than 1 KiB is not read'],
    ['/endless-line', 'an event of more than 1 KiB is not read'],
    ['/lines', 'an event of more than 1 KiB is not read'],
    ['/round', 'more than 10 redirects'],
  ])('of %s', async (path, expected) => {
    expect(await read(path)).toEqual(expected);
  });

  it('of a stream that is listened to is counted by its events alone', async () => {
    expect(await read('/flood', 'GET')).toBe(9_000);
    expect(await read('/line', 'GET')).toMatch('an event');
  });
});

it('leaves the connection when it has read enough', async () => {
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      sent += 1;
      controller.enqueue(new Uint8Array(100));
    },
  });
  const fetch = limitFetchBytes(async () => new Response(body, { status: 500 }), LIMITS);
  expect((await (await fetch(at)).arrayBuffer()).byteLength).toBe(100);
  expect(sent).toBeLessThan(5);
});
