import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { agents } from '../../src/contracts/agents.ts';
import { attachments } from '../../src/contracts/attachments.ts';
import { knowledgeItems } from '../../src/contracts/knowledge.ts';
import { tasks } from '../../src/contracts/tasks.ts';
import { transfers } from '../../src/contracts/transfer.ts';
import { ApiProblem, createClient, isStale, requestUrl } from '../../src/dashboard/api/call.ts';
import { checkToken } from '../../src/dashboard/shell/check-token.ts';

interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}
interface Received {
  line: string;
  headers: IncomingHttpHeaders;
  body: string;
}

const received: Received[] = [];
let answers: Answer[] = [];
let is_reachable = true;
/** For each refusal: whether the person signs in again. */
let signs_in: boolean[] = [];
const server = createServer(async (request, response) => {
  received.push({ line: `${request.method} ${request.url}`, headers: request.headers, body: await text(request) });
  const { status = 200, headers = {}, body = '{}' } = answers.shift() ?? {};
  response.writeHead(status, headers).end(status === 204 ? undefined : body);
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = globalThis.fetch;
  vi.stubGlobal('location', { origin });
  // A browser completes a path with the origin of its page.
  vi.stubGlobal('fetch', (path: string, init: RequestInit) =>
    is_reachable ? send(new URL(path, origin), init) : Promise.reject(new TypeError('fetch failed')),
  );
});
afterEach(() => {
  received.length = 0;
  answers = [];
  is_reachable = true;
});
afterAll(async () => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** A client whose service gives these answers, one after the other. */
function clientOf(...given: Answer[]) {
  answers = given;
  const refusals: string[] = [];
  const warned: string[] = [];
  const client = createClient({
    token: () => 'hunter2',
    onRefused: async (token) => {
      refusals.push(`refused ${token}`);
      return signs_in.shift() ?? false;
    },
    onWarned: (warnings) => void warned.push(...warnings.map(({ message }) => message)),
  });
  return { ...client, refusals, warned };
}

const json = (value: unknown, more: Answer = {}): Answer => ({ ...more, body: JSON.stringify(value) });
const ID = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

describe('an access token that is tried', () => {
  it('is accepted, or refused with the reason', async () => {
    expect(await checkToken('')).toEqual({ refusal: 'Enter an access token.' });
    expect(received).toEqual([]);
    const me = { id: 'github:7', provider: 'github', subject: '7', login: 'ada' };
    answers = [json(me), json({ detail: 'Unknown' }, { status: 401 }), json({ detail: 'No database' }, { status: 503 })];
    expect([await checkToken('hunter2'), await checkToken('hunter3'), await checkToken('hunter2')]).toEqual([
      ...[{ person: 'github:7' }, { refusal: 'This access token is not valid.' }, { refusal: 'No database.' }],
    ]);
    expect(received.map(({ headers }) => headers.authorization)).toEqual(['Bearer hunter2', 'Bearer hunter3', 'Bearer hunter2']);
  });
});

describe('the address of a request', () => {
  it('has its parameters escaped, and each value that is set', () => {
    expect(requestUrl(agents.get, { params: { id: 'a/b c' } })).toBe('/api/agents/a%2Fb%20c');
    const query = { limit: 7, q: '', status: undefined, model: null, min_cost: 0, cursor: 'a&b' };
    expect(requestUrl(tasks.list, { query: query as never })).toBe('/api/tasks?limit=7&min_cost=0&cursor=a%26b');
  });
});

describe('a request of the dashboard', () => {
  it('is sent again, whole, each time that the person has signed in again after it was refused', async () => {
    const refused = json({ detail: 'Expired' }, { status: 401 });
    const { call, refusals } = clientOf(refused, refused, json({ id: ID }));
    signs_in = [true, true];
    expect(await call(agents.update, { params: { id: ID }, body: { model: 'm' } })).toEqual({ id: ID });
    expect(refusals).toHaveLength(2);
    expect(received.map(({ line, body }) => [line, body])).toEqual(Array(3).fill([`PUT /api/agents/${ID}`, '{"model":"m"}']));
  });

  it('carries the access token, the body, and the tag and key that belong to it', async () => {
    const { call } = clientOf();
    await call(agents.update, { params: { id: ID }, body: { model: 'm' }, if_match: '"7"', idempotency_key: 'order-7' });
    await call(agents.update, { params: { id: ID }, body: { model: 'm' } });
    const [first, second] = received;
    expect(first).toMatchObject({ line: `PUT /api/agents/${ID}`, body: '{"model":"m"}' });
    expect(first?.headers).toMatchObject({
      ...{ authorization: 'Bearer hunter2', 'content-type': 'application/json' },
      ...{ 'if-match': '"7"', 'idempotency-key': 'order-7' },
    });
    expect([second?.headers['if-match'], second?.headers['idempotency-key']]).toEqual([undefined, undefined]);
  });

  it('is not sent again if the screen has passed to another person since it was sent', async () => {
    answers = [{ status: 401, body: JSON.stringify({ detail: 'No longer accepted', code: 'unauthorized' }) }];
    let screens = 3;
    const onRefused = async () => {
      screens += 1;
      return true;
    };
    const client = createClient({ token: () => 'hunter2', screens: () => screens, onRefused });
    await expect(client.call(tasks.list)).rejects.toMatchObject({ status: 401, message: 'No longer accepted' });
    expect(received).toHaveLength(1);
  });

  it('carries no token if nobody has signed in with one', async () => {
    await createClient({ token: () => null, onRefused: async () => false }).call(tasks.list);
    expect(received[0]?.headers.authorization).toBeUndefined();
  });

  it('sends a file as a form with its name and the other fields', async () => {
    const content = new File(['so'], 'bill.txt');
    await clientOf().call(attachments.upload, { file: { content, fields: { purpose: 'seven' } } });
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toMatch(/name="purpose"\r\n\r\nseven\r\n[\s\S]*name="file"; filename="bill.txt"[\s\S]*\r\n\r\nso\r\n/);
  });
});

describe('an answer to the dashboard', () => {
  it('is its value and the tag of its state, which a compressing proxy makes weak', async () => {
    for (const etag of ['"7"', 'W/"7"'])
      expect(await clientOf(json({ id: ID }, { headers: { etag } })).tagged(agents.get, { params: { id: ID } })).toEqual({
        value: { id: ID },
        tag: '"7"',
      });
    expect(await clientOf(json({ id: ID })).tagged(agents.get, { params: { id: ID } })).toMatchObject({ tag: null });
  });

  it('is nothing if it has no content', async () => {
    expect(await clientOf({ status: 204 }).call(agents.remove, { params: { id: ID } })).toBeUndefined();
  });

  it('is a page with the number of all items, and the cursor of the next one', async () => {
    const headers = { 'x-total-count': '103', link: '</api/tasks?limit=2&cursor=bmV4dA>; rel="next"' };
    expect(await clientOf(json([{ id: 'a' }, { id: 'b' }], { headers })).call(tasks.list)).toEqual({
      ...{ items: [{ id: 'a' }, { id: 'b' }], total: 103, next: 'bmV4dA' },
    });
    const last = json([{ id: 'a' }], { headers: { 'x-total-count': '1' } });
    expect(await clientOf(last).call(tasks.list)).toEqual({ items: [{ id: 'a' }], total: 1, next: null });
  });
});

describe('the warnings of an answer', () => {
  const warnings = [{ path: 'model', message: 'Unknown' }];

  it.each<[string, string[], (client: ReturnType<typeof clientOf>) => Promise<unknown>]>([
    ['shown after a change', ['Unknown'], ({ call }) => call(agents.update, { params: { id: ID }, body: {} })],
    ['shown after a creation', ['Unknown'], ({ call }) => call(agents.create, { body: { name: 'a' } })],
    ['part of what is read', [], ({ call }) => call(agents.get, { params: { id: ID } })],
    ['part of the passages found', [], ({ call }) => call(knowledgeItems.query, { body: { query: 'so' } })],
  ])('are %s: %j', async (_, shown, send) => {
    const client = clientOf(json({ warnings }));
    await send(client);
    expect(client.warned).toEqual(shown);
  });

  it('are part of the report of an import', async () => {
    const client = clientOf(json({ created: 1, errors: [], warnings }));
    await client.call(transfers.agent.import, { body: { version: '1.0', items: [] } as never });
    expect(client.warned).toEqual([]);
  });
});

describe('a refusal', () => {
  it.each([
    [401, ['refused hunter2']],
    [403, []],
    [404, []],
    [412, []],
    [422, []],
    [500, []],
  ])('with %i is thrown as it was written, and ends the session if the token is not valid: %j', async (status, refused) => {
    const errors = [{ path: 'model', message: 'Too long' }];
    const problem = { status, code: 'seven', detail: 'Not so.', errors };
    const client = clientOf(json(problem, { status }));
    const error = await client.call(agents.get, { params: { id: ID } }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiProblem);
    expect({ ...(error as object), message: (error as Error).message }).toEqual({
      ...{ status, code: 'seven', errors, message: 'Not so.' },
    });
    expect(client.refusals).toEqual(refused);
    expect(isStale(error)).toBe(status === 412);
  });

  it('that a proxy wrote names its status', async () => {
    const answer = { status: 502, body: '<html>Bad Gateway</html>' };
    await expect(clientOf(answer).call(tasks.list)).rejects.toMatchObject({
      ...{ status: 502, code: 'unexplained', message: 'The service returned 502. See its log for the cause.' },
    });
  });

  it('is the reason of its signal if the request was aborted, and an unreachable service otherwise', async () => {
    const gone = AbortSignal.abort(new Error('the page was left'));
    await expect(clientOf().call(tasks.list, {}, gone)).rejects.toThrow('the page was left');
    is_reachable = false;
    await expect(clientOf().call(tasks.list)).rejects.toMatchObject({ status: 0, code: 'unreachable' });
  });
});
