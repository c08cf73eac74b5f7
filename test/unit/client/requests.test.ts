import { afterEach, describe, expect, it, vi } from 'vitest';
import { createClient, PerduraConnectionError, PerduraError } from '../../../src/client/index.ts';

interface Sent {
  method: string;
  url: string;
  key: string | null;
}

const ACCEPTED = { task_id: 't' };
const problem = (status: number, body: object, retry_after?: string) => () =>
  new Response(JSON.stringify(body), { status, headers: retry_after === undefined ? {} : { 'retry-after': retry_after } });
const busy = problem(503, { code: 'engine_unavailable', detail: 'Temporal is unreachable', request_id: 'r-1' }, '0');
const accepted = () => Response.json(ACCEPTED, { status: 201 });
const lost = () => {
  throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } });
};

/** A client of a service that gives these answers, one after the other. */
function clientOf(...answers: (() => Response)[]) {
  const sent: Sent[] = [];
  const fetch = async (url: string | URL | Request, { method = '', headers }: RequestInit = {}) => {
    sent.push({ method, url: String(url), key: new Headers(headers).get('idempotency-key') });
    const answer = answers.shift();
    if (!answer) throw new Error('nothing is left to answer');
    return answer();
  };
  return { client: createClient({ url: 'http://perdura.example/', token: 'x', fetch: fetch as typeof globalThis.fetch }), sent };
}

describe('a request that starts a run', () => {
  it.each([
    ['is refused for now', busy],
    ['meets a limit', problem(429, { code: 'rate_limited' }, '0')],
    ['loses its answer', lost],
    ['meets its own first attempt', problem(409, { code: 'idempotency_key_busy' })],
  ])('is repeated with the same key if it %s', async (_, answer) => {
    const { client, sent } = clientOf(answer, accepted);
    expect(await client.runs.start('w', 'Go.')).toEqual(ACCEPTED);
    expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST http://perdura.example/api/workflows/w/prompt',
      'POST http://perdura.example/api/workflows/w/prompt',
    ]);
    expect(sent[0]?.key).toMatch(/^[\da-f-]{36}$/);
    expect(sent[1]?.key).toBe(sent[0]?.key);
  });

  it('takes the key of its caller', async () => {
    const { client, sent } = clientOf(accepted);
    await client.runs.start('w', { prompt: 'Go.' }, { idempotency_key: 'order-7' });
    expect(sent.map(({ key }) => key)).toEqual(['order-7']);
  });
});

/** Requests that may have taken effect although they failed, and those that can be sent again in any case. */
const ONCE = ['DELETE /api/skills/{id}', 'POST /api/tasks/{id}/stop', 'PATCH /api/scheduled-agents/{id}/enable'] as const;
const REPEATABLE = ['GET /api/skills/{id}', 'PUT /api/skills/{id}', 'POST /api/workflows/{id}/prompt'] as const;

describe.each([...ONCE.map((route) => ({ route, again: false })), ...REPEATABLE.map((route) => ({ route, again: true }))])(
  '$route',
  ({ route, again }) => {
    const UNFINISHED: [name: string, answer: () => Response][] = [
      ['its answer was lost', lost],
      ['the service was unavailable', problem(503, {}, '0')],
      ['the service was unavailable for an unknown time', problem(503, {})],
    ];
    const NEVER: [name: string, answer: () => Response][] = [400, 403, 404, 409, 412, 422, 500, 502].map((status) => [
      `it was answered with ${status}`,
      problem(status, {}, '0'),
    ]);

    it.each([
      ...UNFINISHED.map(([name, answer]) => ({ name, answer, repeats: again })),
      { name: 'it met a limit', answer: problem(429, {}, '0'), repeats: true },
      ...NEVER.map(([name, answer]) => ({ name, answer, repeats: false })),
    ])('is sent again if $name: $repeats', async ({ answer, repeats }) => {
      const { client, sent } = clientOf(answer, accepted);
      const request = client.request(route as 'GET /api/skills/{id}', { path: { id: 'i' } });
      await (repeats ? request : expect(request).rejects.toThrow());
      expect(sent).toHaveLength(repeats ? 2 : 1);
    });
  },
);

describe('a request that is not repeated', () => {
  it.each([
    ['because it cannot take a key', lost, PerduraConnectionError],
    ['because its answer is final', problem(409, { code: 'not_waiting' }), PerduraError],
    ['because the wait would be long', problem(429, { code: 'quota' }, '3600'), PerduraError],
  ])('fails at once %s', async (_, answer, kind) => {
    const { client, sent } = clientOf(answer);
    await expect(client.tasks.approve('t', '1-1')).rejects.toBeInstanceOf(kind);
    expect(sent.map(({ key }) => key)).toEqual([null]);
  });

  it('throws what the service answered', async () => {
    const errors = [{ path: 'prompt', message: 'Too long' }];
    const { client } = clientOf(problem(422, { code: 'invalid_fields', detail: 'prompt: Too long', request_id: 'r-2', errors }));
    const error = (await client.runs.start('w', 'Go.').catch((thrown: unknown) => thrown)) as PerduraError;
    expect({ ...error, message: error.message }).toEqual({
      name: 'PerduraError',
      message: 'prompt: Too long (422, request r-2)',
      status: 422,
      code: 'invalid_fields',
      request_id: 'r-2',
      errors,
      retry_after_seconds: null,
    });
  });
});

describe('a request that the service asks to repeat later', () => {
  afterEach(() => void vi.useRealTimers());

  it.each([
    ['a limit', 429, '2', 2_000],
    ['an outage', 503, '2', 2_000],
    ['the longest wait', 429, '60', 60_000],
  ])('waits as long as the answer demands: %s', async (_, status, retry_after, wait_ms) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, sent } = clientOf(problem(status, { code: 'later' }, retry_after), accepted);
    const started = client.runs.start('w', 'Go.');
    await vi.advanceTimersByTimeAsync(wait_ms - 1);
    expect(sent).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await started).toEqual(ACCEPTED);
    expect(sent).toHaveLength(2);
  });

  it('leaves a longer wait to its caller', async () => {
    const { client, sent } = clientOf(problem(429, { code: 'later' }, '61'), accepted);
    await expect(client.runs.start('w', 'Go.')).rejects.toMatchObject({ status: 429, retry_after_seconds: 61 });
    expect(sent).toHaveLength(1);
  });

  it('pauses longer after each failure if no answer names a time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const down = problem(503, { code: 'down' });
    const { client, sent } = clientOf(down, down, down, down, down);
    const failed = expect(client.tasks.get('t')).rejects.toMatchObject({ status: 503 });
    const counts: number[] = [];
    // Each pause is between half of the longest and the longest: 500 ms, then twice as much.
    for (const longest_ms of [500, 1_000, 2_000, 4_000]) {
      await vi.advanceTimersByTimeAsync(longest_ms / 2 - 1);
      counts.push(sent.length);
      await vi.advanceTimersToNextTimerAsync();
      counts.push(sent.length);
    }
    await failed;
    expect(counts).toEqual([1, 2, 2, 3, 3, 4, 4, 5]);
  });
});

it('gives up after the repeats it was given', async () => {
  const { client, sent } = clientOf(busy, busy, busy, busy, busy);
  await expect(client.tasks.get('t')).rejects.toMatchObject({ status: 503, request_id: 'r-1' });
  expect(sent).toHaveLength(5);
});

it('ends with the reason of its signal, also while it waits to repeat', async () => {
  const { client } = clientOf(problem(503, {}, '30'));
  const gone = new AbortController();
  const answer = client.tasks.get('t', { signal: gone.signal });
  setImmediate(() => gone.abort(new Error('the user left')));
  await expect(answer).rejects.toThrow('the user left');
});

it('refuses a url that is not one, and names no token', () => {
  expect(() => createClient({ url: 'perdura.example', token: 'hunter2' })).toThrow(
    'The url of the installation must be like https://perdura.example, not "perdura.example"',
  );
});
