import { describe, expect, it } from 'vitest';
import { OutsideRefused } from '../../../src/domain/outside.ts';
import { BYTE_LIMITS, type ByteLimits, limitFetchBytes, tooLarge } from '../../../src/egress/counted-fetch.ts';

const LIMITS: ByteLimits = { message: 10, stream: 25, error: 4, headers: 8 };
const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

/** A response of some pieces, and whether the rest of it was left. */
function scripted(pieces: string[], init: ResponseInit = {}, limits = LIMITS) {
  const left = [...pieces];
  const state = { cancelled: false, pulled: 0 };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        state.pulled += 1;
        const piece = left.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
      cancel() {
        state.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  const response = Object.defineProperties(new Response(body, init), {
    url: { value: 'http://x.example/' },
    redirected: { value: true },
  });
  return { fetch: limitFetchBytes(async () => response, limits), state };
}

const refusal = (read: Promise<unknown>) =>
  read.then(
    (text) => ({ text }),
    (error: Error) => {
      expect(error).toBeInstanceOf(OutsideRefused);
      expect((error as OutsideRefused).code).toBe('answer_too_large');
      return error.message;
    },
  );
const read = async (pieces: string[], { init, method = 'POST' }: { init?: ResponseInit; method?: string | null } = {}) => {
  const { fetch, state } = scripted(pieces, init);
  const said = await refusal((await fetch('http://x.example/', method ? { method } : {})).text());
  return { said, ...state };
};

describe('an answer', () => {
  it('is read up to its limit, whole', async () => {
    expect(await read(['12345', '67890'])).toMatchObject({ said: { text: '1234567890' }, cancelled: false });
    expect(await read(['12345', '67890', '1', '2'])).toMatchObject({
      ...{ said: 'an answer of more than 1 KiB is not read', cancelled: true, pulled: 3 },
    });
    expect(await read([])).toMatchObject({ said: { text: '' } });
  });

  it('that is not an event stream is counted as a whole, whatever its lines are', async () => {
    const init = { headers: { 'content-type': 'application/json' } };
    expect((await read(['1234\n\n', '5678\n\n'], { init })).said).toBe('an answer of more than 1 KiB is not read');
  });

  it('of an error is cut at its limit', async () => {
    const init = { status: 500 };
    expect(await read(['12'], { init })).toMatchObject({ said: { text: '12' }, cancelled: false });
    expect(await read(['123', '456', '7'], { init })).toMatchObject({ said: { text: '1234' }, cancelled: true, pulled: 2 });
    expect(await read(['1234', '5'], { init })).toMatchObject({ said: { text: '1234' }, cancelled: true, pulled: 1 });
    expect(await read(['123456789012345'], { init: { status: 404, headers: STREAM } })).toMatchObject({ said: { text: '1234' } });
  });

  it('without a body is handed on as it is', async () => {
    const response = new Response(null, { status: 204 });
    expect(await limitFetchBytes(async () => response, LIMITS)('http://x.example/')).toBe(response);
  });

  it('keeps its status, headers and address', async () => {
    const { fetch } = scripted(['1'], { status: 201, headers: { 'x-a': 'b' } });
    const response = await fetch('http://x.example/');
    expect([response.status, response.headers.get('x-a'), response.url, response.redirected]).toEqual([
      ...[201, 'b', 'http://x.example/', true],
    ]);
  });

  it('is read no faster than its reader reads', async () => {
    const { fetch, state } = scripted(['1', '2', '3']);
    const response = await fetch('http://x.example/');
    await new Promise(setImmediate);
    expect(state.pulled).toBe(0);
    await response.body?.cancel();
    expect(state).toEqual({ pulled: 0, cancelled: true });
  });

  it('whose rest cannot be left is refused anyway', async () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(11)),
      cancel: () => Promise.reject(new Error('broken')),
    });
    const fetch = limitFetchBytes(async () => new Response(body), LIMITS);
    expect(await refusal((await fetch('http://x.example/')).text())).toBe('an answer of more than 1 KiB is not read');
  });
});

describe('an event stream', () => {
  const init = { headers: STREAM };
  it.each([
    ['events within the limit', ['data: 1\n\n', 'data: 2\n\n'], null],
    ['an event of just the limit, in pieces', ['data: 123', '4\n\n'], null],
    ['an event of just the limit, before its end', ['data: 1234', '\n\n'], null],
    ['an event beyond it', ['data: 12345\n\n'], 'an event'],
    ['an event beyond it that has not ended', ['data: 12345'], 'an event'],
    ['an event beyond it in lines', ['data: 1\n', 'data: 2\n', '\n'], 'an event'],
    ['lines that end with a carriage return', ['data: 1\r\n\r\n', 'data: 2\r\n\r\n'], null],
    ['several events in one piece', ['data: 1\n\ndata: 2\n\n'], null],
    ['empty lines', ['\n\n\n\n\n', '\r\n\r\n\r\n'], null],
    ['more than a whole stream', ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n'], 'a stream'],
  ])('with %s', async (_, pieces, refused) => {
    const text = pieces.join('');
    expect((await read(pieces, { init })).said).toEqual(refused ? `${refused} of more than 1 KiB is not read` : { text });
  });

  it.each(['GET', 'get', null])('asked for with %s has no end, but its events have', async (method) => {
    const pieces = Array.from({ length: 9 }, (_, index) => `data: ${index}\n\n`);
    expect((await read(pieces, { init, method })).said).toEqual({ text: pieces.join('') });
    expect((await read(['data: 12345\n\n'], { init, method })).said).toBe('an event of more than 1 KiB is not read');
  });

  it('asked for by a request has its method', async () => {
    const pieces = ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n'];
    const asked = async (request: Request, more?: RequestInit) => {
      const { fetch } = scripted(pieces, init);
      return refusal((await fetch(request, more)).text());
    };
    const refused = 'a stream of more than 1 KiB is not read';
    expect(await asked(new Request('http://x.example/'))).toEqual({ text: pieces.join('') });
    expect(await asked(new Request('http://x.example/', { method: 'POST' }))).toBe(refused);
    expect(await asked(new Request('http://x.example/', { method: 'POST' }), { method: 'GET' })).toEqual({
      text: pieces.join(''),
    });
  });
});

describe('headers', () => {
  const overflow = Object.assign(new Error('too many'), { code: 'UND_ERR_HEADERS_OVERFLOW' });
  it.each([
    ['too long', overflow, 'headers of more than 1 KiB is not read'],
    ['too long, as a cause', new TypeError('fetch failed', { cause: overflow }), 'headers of more than 1 KiB is not read'],
  ])('that are %s are refused', async (_, error, message) => {
    expect(await refusal(limitFetchBytes(() => Promise.reject(error), LIMITS)('http://x.example/'))).toBe(message);
  });

  it('are not to blame for another failure', async () => {
    for (const error of [new Error('other', { cause: 'x' }), 'a text', null])
      await expect(limitFetchBytes(() => Promise.reject(error), LIMITS)('http://x.example/')).rejects.toBe(error);
  });
});

describe('a limit', () => {
  it.each([
    [1, '1 KiB'],
    [1_024, '1 KiB'],
    [1_025, '2 KiB'],
    [1_048_575, '1024 KiB'],
    [1_048_576, '1 MiB'],
    [16 * 1_048_576, '16 MiB'],
  ])('of %i bytes is named', (bytes, text) => {
    expect(tooLarge('a thing', bytes).message).toBe(`a thing of more than ${text} is not read`);
  });

  it('is large where nothing is set', () => {
    expect(BYTE_LIMITS).toEqual({ message: 16_777_216, stream: 67_108_864, error: 65_536, headers: 32_768 });
  });
});
