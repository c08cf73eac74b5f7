import { afterEach, describe, expect, it, vi } from 'vitest';
import { createClient, PerduraAnswerError, PerduraConnectionError, PerduraError } from '../../../src/client/index.ts';
import type { ClientOptions } from '../../../src/client/transport.ts';

const PAST = new Date(Date.UTC(2026, 0, 31, 12));

/** A client of a service that gives these answers, one after the other, and what it was sent. */
function clientOf(given: (() => Response | Promise<Response>)[], options: Partial<ClientOptions> = {}) {
  const sent: { url: string; init: RequestInit; headers: Headers }[] = [];
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    sent.push({ url: String(url), init, headers: new Headers(init.headers) });
    const answer = given.shift();
    if (!answer) throw new Error('nothing is left to answer');
    return answer();
  };
  const client = createClient({
    ...{ url: 'https://perdura.example/', token: 'hunter2', fetch: fetch as typeof globalThis.fetch },
    ...options,
  });
  return { client, sent };
}
const ok =
  (value: unknown = {}) =>
  () =>
    Response.json(value);
const down = (retry_after?: string) => () =>
  Response.json({ code: 'down' }, { status: 503, headers: retry_after === undefined ? {} : { 'retry-after': retry_after } });

describe('a request of the client', () => {
  it('has its path and query escaped, and only what is set', async () => {
    const { client, sent } = clientOf([ok()]);
    const query = { limit: 0, q: 'a&b', cursor: undefined, model: null };
    await client.request('GET /api/tasks/{id}' as 'GET /api/tasks', { path: { id: 'a/b c' }, query } as never);
    expect(sent[0]?.url).toBe('https://perdura.example/api/tasks/a%2Fb%20c?limit=0&q=a%26b');
    expect(sent[0]?.init).toMatchObject({ method: 'GET', body: null, redirect: 'error' });
    expect([sent[0]?.headers.get('content-type'), sent[0]?.headers.get('authorization')]).toEqual([null, 'Bearer hunter2']);
  });

  it('has the access token of its moment, also when it is repeated', async () => {
    let asked = 0;
    const { client, sent } = clientOf([down('0'), ok()], { token: async () => `token-${++asked}` });
    await client.tasks.get('t');
    expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it('sends JSON as such, and a form as its fetch does', async () => {
    const { client, sent } = clientOf([ok(), ok()]);
    await client.runs.start('w', { prompt: 'Go.' });
    const form = new FormData();
    await client.request('POST /api/attachments', { body: form } as never);
    const [json, file] = sent;
    expect([json?.headers.get('content-type'), json?.init.body]).toEqual(['application/json', '{"prompt":"Go."}']);
    expect([file?.headers.get('content-type'), file?.init.body]).toEqual([null, form]);
  });

  it('may have an answer without a body', async () => {
    const { client } = clientOf([() => new Response(null, { status: 204 })]);
    expect(await client.request('DELETE /api/skills/{id}', { path: { id: 's' } })).toBeNull();
  });

  it('has the headers of its caller', async () => {
    const { client, sent } = clientOf([ok()]);
    await client.tasks.stop('t', { headers: { 'x-reason': 'seven' } });
    expect(sent[0]?.headers.get('x-reason')).toBe('seven');
  });
});

describe('an answer that is none', () => {
  afterEach(() => void vi.useRealTimers());

  it('within its time ends the attempt, and a read is tried again', async () => {
    const never = () => new Promise<Response>(() => {});
    const hangs = (_: unknown, init: RequestInit = {}) =>
      new Promise<Response>((_resolve, reject) => init.signal?.addEventListener('abort', () => reject(init.signal?.reason)));
    const options = { timeout_ms: 20, max_retries: 0, fetch: hangs as typeof globalThis.fetch };
    const { client } = clientOf([never], options);
    const error = await client.tasks.get('t').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PerduraConnectionError);
    expect((error as Error).message).toBe('https://perdura.example did not answer: no answer within 20 ms');
  });

  it.each(['<html>Sign in</html>', '{"a":'])('because a proxy wrote %s, is said to be that', async (body) => {
    const { client } = clientOf([() => new Response(body)]);
    const error = await client.tasks.get('t').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PerduraAnswerError);
    expect((error as Error).message).toContain(
      'https://perdura.example answered with something that is not JSON; use the address',
    );
  });

  it('in a refusal of a proxy leaves its status', async () => {
    const headers = { 'x-request-id': 'r-7' };
    const { client } = clientOf([() => new Response('<html>', { status: 413, headers })]);
    await expect(client.runs.start('w', 'Go.')).rejects.toMatchObject({
      ...{ status: 413, code: 'unknown', request_id: 'r-7', errors: [] },
      message: 'The service answered with status 413 (413, request r-7)',
    });
  });

  it.each(['null', '7', '[]'])('in a refusal that is %s leaves its status', async (body) => {
    const { client } = clientOf([() => new Response(body, { status: 500 })]);
    await expect(client.runs.start('w', 'Go.')).rejects.toMatchObject({
      ...{ status: 500, code: 'unknown', message: 'The service answered with status 500 (500)' },
    });
  });

  it.each([
    [new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED', message: 'refused' } }), 'ECONNREFUSED'],
    [new TypeError('fetch failed', { cause: new Error('no such host') }), 'no such host'],
    [new TypeError('redirect mode is set to error'), 'redirect mode is set to error'],
    ['closed', 'closed'],
  ])('because of %s reports that', async (reason, sentence) => {
    const fails = () => Promise.reject(reason);
    const { client } = clientOf([fails], { max_retries: 0 });
    await expect(client.tasks.get('t')).rejects.toThrow(`https://perdura.example did not answer: ${sentence}`);
  });

  it('is not waited for if a limit names no time', async () => {
    const limited = (retry_after: string) => () => new Response('{}', { status: 429, headers: { 'retry-after': retry_after } });
    const { client, sent } = clientOf([limited('soon')]);
    await expect(client.tasks.get('t')).rejects.toMatchObject({ status: 429, retry_after_seconds: null });
    expect(sent).toHaveLength(1);
  });

  it('waits until the time that the service names, which may be a date', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: PAST });
    const { client, sent } = clientOf([down(new Date(PAST.getTime() + 7_000).toUTCString()), ok({ id: 't' })]);
    const got = client.tasks.get('t');
    await vi.advanceTimersByTimeAsync(6_999);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await got).toEqual({ id: 't' });
    const late = clientOf([down(new Date(PAST.getTime() - 7_000).toUTCString()), ok({ id: 't' })]);
    const again = late.client.tasks.get('t');
    await vi.advanceTimersByTimeAsync(0);
    expect(await again).toEqual({ id: 't' });
  });

  it('is waited for no longer than eight seconds at a time, and as often as the caller wants', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const { client, sent } = clientOf(Array(8).fill(down()), { max_retries: 6 });
    const failed = expect(client.tasks.get('t')).rejects.toBeInstanceOf(PerduraError);
    for (const _ of [500, 1_000, 2_000, 4_000]) await vi.advanceTimersToNextTimerAsync();
    // Each wait is between half of its time and all of it.
    for (const before of [5, 6]) {
      const waits_since = Date.now();
      await vi.advanceTimersByTimeAsync(3_999);
      expect(sent).toHaveLength(before);
      await vi.advanceTimersToNextTimerAsync();
      expect(sent).toHaveLength(before + 1);
      expect(Date.now() - waits_since).toBeLessThanOrEqual(8_000);
    }
    await failed;
    expect(sent).toHaveLength(7);
  });

  it('is waited for five times unless the caller wants something else', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, sent } = clientOf(Array(8).fill(down()));
    const failed = expect(client.tasks.get('t')).rejects.toBeInstanceOf(PerduraError);
    await vi.advanceTimersByTimeAsync(60_000);
    await failed;
    expect(sent).toHaveLength(5);
  });
});

describe('a list of the client', () => {
  it('is read page by page with the query of its caller, and no further than it is used', async () => {
    const page = (items: object[], cursor?: string) => () =>
      Response.json(items, { headers: cursor ? { link: `</api/agents?cursor=${cursor}>; rel="next"` } : {} });
    const { client, sent } = clientOf([page([{ id: 'a' }, { id: 'b' }], 'x'), page([{ id: 'c' }], 'y'), page([])]);
    const ids: string[] = [];
    for await (const { id } of client.items('GET /api/agents', { query: { limit: 2, q: 'seven' } }))
      if (ids.push(id) === 3) break;
    expect([ids, sent.map(({ url }) => url.split('?')[1])]).toEqual([
      ['a', 'b', 'c'],
      ['limit=2&q=seven', 'limit=2&q=seven&cursor=x'],
    ]);
  });

  it('that is none, or names the same page again, is refused', async () => {
    const read = async (...answers: (() => Response)[]) => {
      for await (const _ of clientOf(answers).client.items('GET /api/agents'));
    };
    await expect(read(ok({ items: [] }))).rejects.toThrow('did not answer GET /api/agents with a list');
    const same = () => Response.json([], { headers: { link: '</api/agents?cursor=x>; rel="next"' } });
    await expect(read(same, same, same)).rejects.toThrow('names the same page of GET /api/agents again');
  });
});
