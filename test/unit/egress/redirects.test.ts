import { describe, expect, it } from 'vitest';
import { followRedirects } from '../../../src/egress/redirects.ts';

interface Sent {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/** A fetch of scripted answers, and what it was asked. */
function scripted(...answers: [status: number, location?: string][]) {
  const sent: Sent[] = [];
  let cancelled = 0;
  const fetch = followRedirects((async (input: URL | string, init: RequestInit = {}) => {
    const { method = 'GET', headers, body = null, redirect } = init;
    expect(redirect).toBe('manual');
    sent.push({ method, url: String(input), headers: Object.fromEntries(new Headers(headers)), body });
    const [status, location] = answers.shift() ?? [200];
    const answer = new ReadableStream({
      cancel() {
        cancelled += 1;
      },
    });
    return new Response(status === 204 || status === 304 ? null : answer, {
      status,
      headers: location === undefined ? {} : { location },
    });
  }) as typeof globalThis.fetch);
  return { fetch, sent, cancelled: () => cancelled };
}

const ONE = 'https://one.example/a';
const reason = (failed: Promise<unknown>) =>
  failed.then(
    () => 'no failure',
    (error: Error) => [error.constructor.name, error.message, (error.cause as Error).message],
  );
const failed = (text: string) => ['TypeError', 'fetch failed', text];

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])('with %i is followed, also to a relative place', async (status) => {
    const { fetch, sent, cancelled } = scripted([status, '/b?c'], [status, 'd']);
    const response = await fetch(ONE, { headers: { 'x-key': 'k' } });
    expect(response.status).toBe(200);
    expect(sent.map(({ method, url, headers }) => [method, url, headers])).toEqual([
      ['GET', ONE, { 'x-key': 'k' }],
      ['GET', 'https://one.example/b?c', { 'x-key': 'k' }],
      ['GET', 'https://one.example/d', { 'x-key': 'k' }],
    ]);
    expect(cancelled()).toBe(2);
  });

  it.each([200, 201, 300, 304, 305, 306, 400, 404])('is not what a %i says, even with a location', async (status) => {
    const { fetch, sent } = scripted([status, '/b']);
    expect((await fetch(ONE)).status).toBe(status);
    expect(sent).toHaveLength(1);
  });

  it('without a location is the answer', async () => {
    const { fetch } = scripted([302]);
    expect((await fetch(ONE)).status).toBe(302);
  });

  it.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [303, 'DELETE', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [303, 'GET', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'DELETE', 'DELETE'],
    [301, 'HEAD', 'HEAD'],
    [307, 'POST', 'POST'],
    [308, 'PATCH', 'PATCH'],
    [302, 'post', 'GET'],
    [303, 'head', 'head'],
  ])('with %i turns %s into %s', async (status, method, expected) => {
    const { fetch, sent } = scripted([status, '/b']);
    const body = /^(GET|HEAD)$/i.test(method) ? null : 'text';
    const content = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location'];
    await fetch(ONE, {
      method,
      body,
      headers: { ...Object.fromEntries(content.map((name) => [name, 'x'])), accept: '*/*', 'x-key': 'k' },
    });
    const dropped = expected === 'GET' && !/^get$/i.test(method);
    expect(sent[1]).toMatchObject({ method: expected, body: dropped ? null : body });
    expect(Object.keys(sent[1]?.headers ?? {}).sort()).toEqual([...(dropped ? [] : content), 'accept', 'x-key'].sort());
  });

  it('takes only harmless headers to another origin', async () => {
    const headers = {
      ...{ accept: 'a', 'accept-language': 'b', 'content-type': 'c', 'user-agent': 'd' },
      ...{ authorization: 'x', cookie: 'x', 'x-api-key': 'x', 'api-key': 'x', 'x-anything': 'x' },
    };
    for (const location of ['https://two.example/', 'http://one.example/', 'https://one.example:8443/']) {
      const { fetch, sent } = scripted([302, location], [302, ONE]);
      await fetch(ONE, { headers });
      const harmless = { accept: 'a', 'accept-language': 'b', 'content-type': 'c', 'user-agent': 'd' };
      // Nor back: the way was not under one's own control.
      expect(sent.slice(1).map((one) => one.headers)).toEqual([harmless, harmless]);
    }
  });

  it('takes a body to no other origin', async () => {
    const { fetch, sent } = scripted([307, 'https://two.example/']);
    expect(await reason(fetch(ONE, { method: 'POST', body: 'text' }))).toEqual(
      failed('a redirect to another origin, https://two.example, is not followed with a body'),
    );
    expect(sent).toHaveLength(1);
    const again = scripted([302, 'https://two.example/']);
    await again.fetch(ONE, { method: 'POST', body: 'text' });
    expect(again.sent[1]).toMatchObject({ method: 'GET', body: null });
  });

  it('keeps what else was asked for, and what describes no body', async () => {
    const { signal } = new AbortController();
    const asked: RequestInit[] = [];
    const fetch = followRedirects((async (_: URL, init: RequestInit) => {
      asked.push(init);
      return asked.length > 1 ? new Response() : new Response(null, { status: 303, headers: { location: '/b' } });
    }) as never);
    await fetch(ONE, { method: 'POST', body: 'x', signal });
    expect(asked[1]).toMatchObject({ method: 'GET', signal });
    asked.length = 0;
    await fetch(ONE, { headers: { 'content-type': 'x' } });
    expect(new Headers(asked[1]?.headers).get('content-type')).toBe('x');
  });

  it.each(['ftp://two.example/', 'file:///etc/passwd', 'data:,x', 'httpx://a', 'xhttp://a'])(
    'is not followed to %s',
    async (location) => {
      const { fetch } = scripted([302, location]);
      expect(await reason(fetch(ONE))).toEqual(failed(`a redirect to ${new URL(location).protocol} is not followed`));
    },
  );

  it('is followed ten times', async () => {
    const ten = scripted(...Array.from({ length: 10 }, () => [302, '/'] as [number, string]));
    expect((await ten.fetch(ONE)).status).toBe(200);
    expect(ten.sent).toHaveLength(11);
    const eleven = scripted(...Array.from({ length: 11 }, () => [302, '/'] as [number, string]));
    expect(await reason(eleven.fetch(ONE))).toEqual(failed('more than 10 redirects'));
    expect(eleven.sent).toHaveLength(11);
  });

  it('is left to the fetch itself where its caller asks for that', async () => {
    const asked: unknown[] = [];
    const plain = followRedirects((async (...args: unknown[]) => {
      asked.push(args);
      return new Response(null, { status: 302, headers: { location: '/' } });
    }) as never);
    const request = new Request(ONE);
    expect((await plain(ONE, { redirect: 'manual' })).status).toBe(302);
    expect((await plain(ONE, { redirect: 'error' })).status).toBe(302);
    expect((await plain(request)).status).toBe(302);
    expect(asked).toEqual([
      [ONE, { redirect: 'manual' }],
      [ONE, { redirect: 'error' }],
      [request, {}],
    ]);
    const { fetch, sent } = scripted([302, '/b']);
    await fetch(new URL(ONE), { redirect: 'follow' });
    expect(sent).toHaveLength(2);
  });
});
