import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, constants, createBrotliCompress, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { Agent } from 'undici';
import { afterEach, expect, onTestFinished, it as test } from 'vitest';
import { requestFetch } from '../../../src/egress/request-fetch.ts';

const crashes: unknown[] = [];
process.on('uncaughtException', (error) => void crashes.push(error));
afterEach(async () => {
  await new Promise(setImmediate);
  expect(crashes.splice(0)).toEqual([]);
});

interface Place {
  url: string;
  fetch: typeof globalThis.fetch;
  /** Of the server. */
  connections(): Promise<number>;
}

async function served(answer: RequestListener): Promise<Place> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent();
  onTestFinished(async () => {
    await agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    fetch: requestFetch(agent),
    connections: () => new Promise((done) => server.getConnections((_, count) => done(count))),
  };
}

/** What a request was refused with. */
const refused = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => Promise.reject(new Error('It succeeded')),
    (error: Error) => error,
  );

const PACKERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync, 'x-gzip': gzipSync };

test.each(Object.entries(PACKERS).flatMap(([name, pack]) => [200, 400, 500].map((status) => ({ name, pack, status }))))(
  'unpacks $name with status $status',
  async ({ name, pack, status }) => {
    const { url, fetch } = await served((_, response) => {
      response.writeHead(status, { 'content-encoding': name }).end(pack('Grüße, '.repeat(10_000)));
    });
    const response = await fetch(url);
    expect(response.status).toBe(status);
    expect(await response.text()).toBe('Grüße, '.repeat(10_000));
  },
);

const STREAMING = {
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
  br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
};

test.each(['gzip', 'br'] as const)('passes each part of a stream on as it comes, packed as %s', async (name) => {
  let more = () => {};
  const { url, fetch } = await served((_, response) => {
    const packer = STREAMING[name]();
    response.writeHead(200, { 'content-encoding': name, 'content-type': 'text/event-stream' });
    packer.pipe(response);
    packer.write('one');
    more = () => void packer.end('two');
  });
  const reader = (await fetch(url)).body!.getReader();
  const text = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await text()).toBe('one');
  more();
  expect(await text()).toBe('two');
});

test.each([
  ...Object.keys(PACKERS).map((name) => ({ what: `${name}, empty`, name, bytes: Buffer.alloc(0), text: '' })),
  ...Object.entries(PACKERS).map(([name, pack]) => ({
    ...{ what: `${name}, without its last byte`, name, text: 'all' },
    bytes: pack('all').subarray(0, -1),
  })),
  { what: 'two packings', name: 'gzip, br', bytes: brotliCompressSync(gzipSync('all')), text: 'all' },
  { what: 'capitals', name: 'GZIP', bytes: gzipSync('all'), text: 'all' },
  { what: 'an unknown packing', name: 'own', bytes: Buffer.from('all'), text: 'all' },
  { what: 'no packing', name: 'identity', bytes: Buffer.from('all'), text: 'all' },
])('reads a body with $what', async ({ name, bytes, text }) => {
  const { url, fetch } = await served((_, response) => {
    response.writeHead(200, { 'content-encoding': name, 'content-length': bytes.length }).end(bytes);
  });
  expect(await (await fetch(url)).text()).toBe(text);
});

test('refuses a body that is packed too often', async () => {
  const names = Array.from({ length: 6 }, () => 'gzip').join(', ');
  const { url, fetch, connections } = await served((_, response) => {
    response.writeHead(200, { 'content-encoding': names }).write(gzipSync('all'));
  });
  expect((await refused(fetch(url))).message).toBe('the answer is packed 6 times');
  await expect.poll(connections).toBe(0);
});

test('says of a packed body that it is none', async () => {
  const { url, fetch } = await served((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('not packed');
  });
  expect(await refused((await fetch(url)).text())).toBeInstanceOf(TypeError);
});

test('sends method, headers and body as fetch does', async () => {
  const { url, fetch } = await served(async (request, response) => {
    const body = (await request.toArray()).join('');
    response.end(JSON.stringify({ method: request.method, headers: request.headers, body }));
  });
  const sent = async (init?: RequestInit) => (await fetch(url, init)).json();
  expect(await sent()).toMatchObject({ method: 'GET', headers: { accept: '*/*', 'user-agent': 'perdura' }, body: '' });
  const form = new URLSearchParams({ a: 'ä b' });
  expect(await sent({ method: 'post', body: form })).toMatchObject({
    ...{ method: 'POST', body: 'a=%C3%A4+b' },
    headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' },
  });
  expect(await sent({ method: 'PUT', body: Buffer.from('bytes'), headers: [['User-Agent', 'mine']] })).toMatchObject({
    ...{ method: 'PUT', body: 'bytes' },
    headers: { 'content-length': '5', 'user-agent': 'mine' },
  });
  expect(await sent({ method: 'POST', body: '{"ä":1}', headers: { 'content-type': 'application/json' } })).toMatchObject({
    ...{ body: '{"ä":1}' },
    headers: { 'content-type': 'application/json', 'content-length': '8' },
  });
  expect(
    await (await fetch(new Request(url, { method: 'POST', body: 'asked', headers: { 'x-mine': '1' } }))).json(),
  ).toMatchObject({
    ...{ method: 'POST', body: 'asked' },
    headers: { 'x-mine': '1' },
  });
});

test('returns status, address and every header', async () => {
  const { url, fetch } = await served((_, response) => {
    response.writeHead(418, 'Short and stout', { 'set-cookie': ['a=1', 'b=2'], 'x-some': 'thing' }).end('tea');
  });
  const response = await fetch(url);
  expect(response).toMatchObject({ status: 418, statusText: 'Short and stout', ok: false, url });
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(response.headers.get('x-some')).toBe('thing');
  expect(await response.text()).toBe('tea');
});

test('asks without the fragment of an address', async () => {
  const { url, fetch } = await served((request, response) => void response.end(request.url));
  const response = await fetch(new URL('some?a=ü#part', url));
  expect(response.url).toBe(`${url}some?a=%C3%BC`);
  expect(await response.text()).toBe('/some?a=%C3%BC');
});

test.each([
  ['ftp://127.0.0.1/', 'an address of ftp: is not asked'],
  ['data:text/plain,hi', 'an address of data: is not asked'],
  ['http://ann:hidden@127.0.0.1/', 'an address with a user name or password is not asked'],
])('refuses %s without quoting it', async (url, message) => {
  const { fetch } = await served(() => {});
  const error = await refused(fetch(url));
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).toBe(message);
});

test('passes over a text of the status that cannot be shown', async () => {
  const { url, fetch } = await served(({ socket }) => void socket.end('HTTP/1.1 200 Schön\r\ncontent-length: 2\r\n\r\nok'));
  expect(await fetch(url)).toMatchObject({ status: 200, statusText: '' });
});

test.each([204, 205, 304])('answers %i without a body', async (status) => {
  const { url, fetch } = await served((_, response) => void response.writeHead(status).end());
  expect(await fetch(url)).toMatchObject({ status, body: null });
});

test('returns a redirect, or refuses it', async () => {
  const { url, fetch } = await served((_, response) => void response.writeHead(302, { location: '/there' }).end());
  expect((await fetch(url, { redirect: 'manual' })).headers.get('location')).toBe('/there');
  expect((await refused(fetch(url, { redirect: 'error' }))).message).toBe('a redirect is not followed');
});

test('says that a status does not exist', async () => {
  const { url, fetch, connections } = await served((_, response) => void response.writeHead(999).write('endless'));
  expect((await refused(fetch(url))).message).toBe('the answer has the status 999, which does not exist');
  await expect.poll(connections).toBe(0);
});

test('reports that nobody answers', async () => {
  const { fetch } = await served(() => {});
  const error = await refused(fetch('http://127.0.0.1:1/'));
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).toContain('ECONNREFUSED 127.0.0.1:1');
});

test('says that a body broke off', async () => {
  const { url, fetch } = await served((_, response) => {
    response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy());
  });
  const error = await refused((await fetch(url)).text());
  expect(error).toBeInstanceOf(TypeError);
  expect(error.message).toBe('terminated');
});

const endless: RequestListener = (_, response) => void response.writeHead(200).write('some');

test('closes the connection of a packed body that is cancelled', async () => {
  const { url, fetch, connections } = await served((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).write(gzipSync('all'));
  });
  const reader = (await fetch(url)).body!.getReader();
  await reader.read();
  await reader.cancel();
  await expect.poll(connections).toBe(0);
});

test.each(['before the answer', 'within the body'])('ends with the reason of its signal %s', async (when) => {
  const { url, fetch, connections } = await served(when === 'within the body' ? endless : () => {});
  const stop = new AbortController();
  const asked = fetch(url, { signal: stop.signal });
  const whole = when === 'within the body' ? (await asked).text() : asked;
  const reason = new Error('enough');
  setTimeout(() => stop.abort(reason), 20);
  expect(await refused(whole)).toBe(reason);
  await expect.poll(connections).toBe(0);
});

test('ends at once if its signal is aborted already', async () => {
  const { url, fetch, connections } = await served(endless);
  const reason = new Error('enough');
  expect(await refused(fetch(url, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect(await connections()).toBe(0);
});

test('closes the connection of a body that is cancelled, and reading it ends', async () => {
  const { url, fetch, connections } = await served(endless);
  const { body } = await fetch(url);
  const reader = body!.getReader();
  await reader.read();
  const rest = reader.read();
  await reader.cancel();
  expect((await rest).done).toBe(true);
  await expect.poll(connections).toBe(0);
});

test('drops an answer that nobody has read', async () => {
  const { url, fetch, connections } = await served(endless);
  await (await fetch(url)).body!.cancel();
  await expect.poll(connections).toBe(0);
});

test('reads no faster than its reader', async () => {
  let sent = 0;
  const { url, fetch } = await served((_, response) => {
    const write = () => {
      while (sent < 64 && response.write(Buffer.alloc(1 << 20))) sent += 1;
      if (sent < 64) sent += 1;
      else response.end();
    };
    response.on('drain', write);
    write();
  });
  const { body } = await fetch(url);
  await new Promise((done) => setTimeout(done, 300));
  expect(sent).toBeLessThan(32);
  await body!.cancel();
});
