import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawRequest } from '../support/contract/raw-request.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { UNKNOWN } from './contract-world.ts';

let here: TestInstallation;
let operations: { method: string; path: string; takes_body: boolean; described: number[] }[];
let bodiless: typeof operations;
beforeAll(async () => {
  here = await startTestInstallation();
  const { paths } = (await here.anonymous.get('/openapi.json')).body as {
    paths: Record<string, Record<string, { requestBody?: object; responses: object }>>;
  };
  operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, responses }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, UNKNOWN),
      takes_body: requestBody !== undefined,
      described: Object.keys(responses).map(Number),
    })),
  );
  bodiless = operations.filter(({ method, takes_body }) => method !== 'GET' && !takes_body);
});
afterAll(() => here.stop());

interface Reply {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}
const bearer = { authorization: `Bearer ${ALICE}` };

/** Sends text as it is, and reads whatever comes back. */
async function speak(...parts: (string | Buffer)[]): Promise<Reply> {
  const { hostname, port } = new URL(here.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  for (const part of parts) socket.write(part);
  const [head = '', ...rest] = (await text(socket)).split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = Object.fromEntries(fields.map((field) => [field.split(': ')[0]!.toLowerCase(), field.split(': ')[1]]));
  return { status: Number(line.split(' ')[1]), headers, body: rest.join('\r\n\r\n') };
}
const request = (line: string, fields: Record<string, string> = {}, body = '') => {
  const all = { host: new URL(here.url).host, connection: 'close', ...bearer, ...fields };
  const head = Object.entries(all).flatMap(([name, value]) => (value === '' ? [] : [`${name}: ${value}`]));
  return `${line} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`;
};

/** What is wrong with a refusal, judged by the path that was asked. */
function findFaults(path: string, { status, headers, body }: Reply, wanted?: number): string[] {
  const faults: string[] = [];
  const read = ((): Record<string, unknown> => {
    try {
      return JSON.parse(body);
    } catch {
      return {};
    }
  })();
  if (wanted && status !== wanted) faults.push(`status ${status}`);
  if (/^\/v1(?:[/?]|$)/.test(path)) {
    const error = Object(read.error);
    const is_complete = [error.message, error.type, error.code].every((it) => typeof it === 'string') && 'param' in error;
    if (!is_complete || !String(headers['content-type']).includes('json')) faults.push(`no OpenAI error: ${body.slice(0, 200)}`);
  } else {
    const { type, title, detail, code, request_id } = read;
    if (![type, title, detail, code, request_id].every((it) => typeof it === 'string') || read.status !== status)
      faults.push(`no problem: ${body.slice(0, 200)}`);
    if (!String(headers['content-type']).includes('application/problem+json')) faults.push(String(headers['content-type']));
  }
  if (status === 405 && !/^[A-Z]+(, [A-Z]+)*$/.test(String(headers.allow))) faults.push(`allow: ${headers.allow}`);
  if (headers['x-content-type-options'] !== 'nosniff') faults.push('no security headers');
  return faults;
}

describe('a trailing slash', () => {
  it('names the same resource, for every operation', async () => {
    expect(operations.length).toBeGreaterThan(100);
    const differing: string[] = [];
    for (const { method, path } of operations) {
      if (/stream|changes/.test(path)) continue;
      const plain = await rawRequest(`${here.url}${path}`, { method, headers: bearer });
      const slashed = await rawRequest(`${here.url}${path}/`, { method, headers: bearer });
      const doubled = await rawRequest(`${here.url}${path}//?x=1`, { method, headers: {} });
      if (plain.status !== slashed.status || plain.headers['content-type'] !== slashed.headers['content-type'])
        differing.push(`${method} ${path}: ${plain.status} and ${slashed.status}`);
      const closed = await rawRequest(`${here.url}${path}?x=1`, { method, headers: {} });
      if (doubled.status !== closed.status) differing.push(`${method} ${path}//: ${doubled.status} and ${closed.status}`);
    }
    expect(differing).toEqual([]);
  });

  it('keeps the query, and the pages that have one', async () => {
    for (const name of ['slash a', 'slash b'])
      await here.alice.ok(here.alice.post('/api/skills/', { name, instructions: 'x' }), 201);
    expect((await here.alice.get('/api/skills/?limit=1')).body).toHaveLength(1);
    expect((await here.alice.get('/v1/models/')).body).toMatchObject({ object: 'list' });
    const pages = ['/docs/', '/docs', '/dashboard-legacy/', '/dashboard-legacy', '/'];
    const statuses = await Promise.all(pages.map(async (page) => (await rawRequest(`${here.url}${page}`)).status));
    expect(statuses).toEqual([200, 200, 200, 200, 302]);
  });
});

const PATHS = [
  '/api/agents',
  '/api/nothing',
  '/api',
  '/v1/models',
  '/v1/nothing',
  '/v1',
  '/mcp',
  '/nothing',
  '/health/live',
  '/openapi.json',
];

describe.each(PATHS)('a refusal under %s', (path) => {
  it.each([
    ['an unknown method', 'FOO', undefined],
    ['a method of WebDAV', 'PROPFIND', undefined],
    ['TRACE', 'TRACE', undefined],
    ['PATCH', 'PATCH', undefined],
    ['OPTIONS', 'OPTIONS', undefined],
  ])('has its form for %s', async (_, method) => {
    const reply = await speak(request(`${method} ${path}`));
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(findFaults(path, reply)).toEqual([]);
  });

  it.each([
    ['a path that is not percent-encoded', () => request(`GET ${path}/%zz`), 400],
    ['a path that is not UTF-8', () => request(`GET ${path}/%ff`), 400],
    ['no Host', () => request(`GET ${path}`, { host: '' }), 400],
    ['an unknown expectation', () => request(`GET ${path}`, { expect: 'the-best' }), 417],
    ['headers beyond the limit', () => request(`GET ${path}`, { 'x-large': 'x'.repeat(20_000) }), 431],
    ['a malformed header', () => request(`GET ${path}`, { 'bad name': 'x' }), 400],
    ['a malformed length', () => request(`POST ${path}`, { 'content-length': 'x' }), 400],
    ['two lengths', () => request(`POST ${path}`, { 'content-length': '1', 'transfer-encoding': 'chunked' }), 400],
    ['another version of HTTP', () => request(`GET ${path}`).replace('HTTP/1.1', 'HTTP/9.9'), 400],
  ])('has its form for %s', async (_, message, status) => {
    expect(findFaults(path, await speak(message()), status)).toEqual([]);
  });
});

describe.each(['/api/agents', '/v1/chat/completions', '/mcp'])('a body for %s', (path) => {
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const post = (body: string, fields: Record<string, string> = json) =>
    speak(request(`POST ${path}`, { ...fields, 'content-length': String(Buffer.byteLength(body)) }, body));

  it.each([
    ['JSON that breaks off', () => post('{"a": '), 400],
    ['text as JSON', () => post('hello'), 400],
    ['another type', () => post('a,b', { ...json, 'content-type': 'text/csv' }), 415],
    ['plain text', () => post('{}', { ...json, 'content-type': 'text/plain' }), 415],
    ['a form', () => post('a=b', { ...json, 'content-type': 'application/x-www-form-urlencoded' }), 415],
    ['a type that is none', () => post('{}', { ...json, 'content-type': 'json' }), 415],
    ['no type', () => post('{}', { accept: json.accept }), 415],
    ['a packed body', () => post('{}', { ...json, 'content-encoding': 'gzip' }), 415],
    ['a long body', () => post(`"${'x'.repeat(9_000_000)}"`), 413],
    ['deep nesting', () => post('['.repeat(2_000)), 413],
  ])('is refused in its form: %s', async (_, ask, status) => {
    expect(findFaults(path, await ask(), status)).toEqual([]);
  });

  it('that is really packed is refused with the reason', async () => {
    const packed = gzipSync('{"name": "x"}');
    const head = request(`POST ${path}`, { ...json, 'content-encoding': 'gzip', 'content-length': String(packed.length) });
    expect((await speak(head, packed)).body).toContain('Content-Encoding gzip');
  });
});

describe('a POST without a JSON body', () => {
  const post = (path: string, fields: Record<string, string>, body: string) => speak(request(`POST ${path}`, fields, body));

  it.each<[string, Record<string, string>, string]>([
    [
      'text without a byte, as `fetch` sends an empty text',
      { 'content-type': 'text/plain;charset=UTF-8', 'content-length': '0' },
      '',
    ],
    ['text in chunks without a byte', { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }, '0\r\n\r\n'],
    [
      'JSON with an encoding that changes nothing',
      { 'content-type': 'application/json', 'content-encoding': 'Identity', 'content-length': '2' },
      '{}',
    ],
  ])('may have %s', async (_, fields, body) => {
    expect((await post(`/api/workflows/${UNKNOWN}/halt`, fields, body)).status).toBe(404);
  });

  it.each<[string, Record<string, string>, string]>([
    ['text', { 'content-length': '1' }, 'x'],
    ['text in chunks', { 'transfer-encoding': 'chunked' }, '1\r\nx\r\n0\r\n\r\n'],
  ])('is refused with %s', async (_, fields, body) => {
    const refused = await post('/api/agents', { 'content-type': 'text/plain', ...fields }, body);
    expect(findFaults('/api/agents', refused, 415)).toEqual([]);
    expect(refused.body).toContain('unsupported_content_type');
  });
});

describe('a request that only looks odd', () => {
  const skill = (name: string) => JSON.stringify({ name, instructions: 'x' });
  const json = (body: string | Buffer, type = 'application/json') => ({
    'content-type': type,
    'content-length': String(Buffer.byteLength(body)),
  });
  const post = (body: string, type?: string) => speak(request('POST /api/skills', json(body, type), body));

  it.each<[string, () => Promise<Reply>, number]>([
    ['a body that begins with a byte order mark', () => post(`\uFEFF${skill('marked')}`), 201],
    ['a charset in another case', () => post(skill('cased'), 'application/json; charset="UTF-8"'), 201],
    ['a type in capitals', () => post(skill('capital'), 'Application/JSON;charset=utf8'), 201],
    ['a type of JSON with a suffix', () => post(skill('suffixed'), 'application/vnd.api+json'), 415],
    ['a wish for a type that nobody has', () => speak(request('GET /api/agents', { accept: 'image/png' })), 200],
    ['a wish for no type', () => speak(request('GET /v1/models', { accept: 'text/event-stream;q=0' })), 200],
    ['a wish to be packed', () => speak(request('GET /api/agents', { 'accept-encoding': 'br;q=1, identity;q=0' })), 200],
    ['two slashes', () => speak(request('GET /v1//models')), 200],
    ['two slashes at the beginning', () => speak(request('GET //v1/models')), 404],
    ['the whole address with two slashes at its end', () => speak(request(`GET ${here.url}/api/agents//`)), 404],
    ['an encoded letter', () => speak(request('GET /v1/%6dodels')), 200],
    ['an encoded slash in an id', () => speak(request('GET /api/agents/a%2Fb')), 404],
    ['a part of a path that goes up', () => speak(request('GET /api/../api/agents')), 404],
    ['a fragment in a query', () => speak(request('GET /api/agents?limit=1#x')), 422],
    ['the whole address', () => speak(request(`GET ${here.url}/api/agents`)), 200],
    ['HEAD', () => speak(request('HEAD /api/agents')), 200],
    ['HEAD of what is not there', () => speak(request('HEAD /api/nothing')), 404],
    ['a bearer in another case', () => speak(request('GET /api/agents', { authorization: `bEARER  ${ALICE}` })), 200],
    ['a bearer twice', () => speak(request('GET /v1/models', { authorization: `Bearer Bearer ${ALICE}` })), 401],
    ['a key as Azure sends it', () => speak(request('GET /v1/models', { authorization: '', 'api-key': ALICE })), 401],
    ['an expectation, with what comes first', () => speak(request('GET /api/agents', { expect: '100-continue' })), 100],
    ['HTTP/1.0', () => speak(request('GET /api/agents').replace('HTTP/1.1', 'HTTP/1.0')), 200],
  ])('is answered: %s', async (_, ask, status) => {
    expect((await ask()).status).toBe(status);
  });
});

describe('a body for an operation that takes none', () => {
  it.each<[string, Record<string, string>, string]>([
    ['of another type', { 'content-type': 'text/csv' }, 'a,b'],
    ['that is not JSON', { 'content-type': 'application/json' }, '{"a": '],
    ['that nests too deep', { 'content-type': 'application/json' }, '['.repeat(2_000)],
  ])('%s gets an answer that is described', async (_, fields, body) => {
    expect(bodiless.length).toBeGreaterThan(40);
    const others: string[] = [];
    for (const { method, path, described } of bodiless) {
      const headers = { ...bearer, ...fields, 'content-length': String(body.length) };
      const { status } = await rawRequest(`${here.url}${path}`, { method, headers, body });
      if (!described.includes(status)) others.push(`${method} ${path}: ${status}`);
    }
    expect(others).toEqual([]);
  });
});

describe('a method that a path does not have', () => {
  it.each([
    ['PATCH', '/api/agents', 'GET, POST'],
    ['POST', '/health/live', 'GET'],
    ['DELETE', '/openapi.json', 'GET'],
    ['PUT', '/docs', 'GET'],
    ['PUT', '/v1/models', 'GET'],
    ['DELETE', '/v1/chat/completions', 'POST'],
    ['POST', '/dashboard', 'GET, HEAD'],
    ['POST', '/dashboard/agents', 'GET, HEAD'],
  ])('is a 405 that names those it has: %s %s', async (method, path, allow) => {
    const reply = await rawRequest(`${here.url}${path}`, { method, headers: bearer });
    expect([reply.status, reply.headers.allow]).toEqual([405, allow]);
    expect(findFaults(path, reply)).toEqual([]);
  });

  it('is refused for CONNECT, which is not a request for a path', async () => {
    expect(findFaults('/', await speak(request('CONNECT example.org:443')), 405)).toEqual([]);
  });

  it('is not the fault of an id that is longer than any', async () => {
    for (const path of [`/api/agents/${'x'.repeat(600)}`, `/v1/models/${'x'.repeat(600)}`]) {
      const reply = await rawRequest(`${here.url}${path}`, { headers: bearer });
      expect(findFaults(path, reply, 404)).toEqual([]);
    }
  });
});
