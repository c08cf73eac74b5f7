import { EventEmitter, once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import Fastify, { type FastifyReply } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDisconnectSignal, createEndSignal } from '../../../src/api/http/reply-ends.ts';
import { cutStalled } from '../../../src/api/http/slow-clients.ts';
import { encodeFrame, type Frames, sendEvents } from '../../../src/api/http/sse.ts';
import { readinessRoute } from '../../../src/api/service/health.ts';
import { createTokenWatch } from '../../../src/api/sign-in/token-ends.ts';
import { asOutage } from '../../../src/domain/outages.ts';
import { createStreamBudget } from '../../../src/events/waiting.ts';
import type { Caller } from '../../../src/identity/caller.ts';

afterEach(() => void vi.useRealTimers());

describe('a frame', () => {
  it('has its number and its type only if it has them, and ends with an empty line', () => {
    expect(encodeFrame({ id: 0, data: { a: 'ü' } }).toString()).toBe('id: 0\ndata: {"a":"ü"}\n\n');
    expect(encodeFrame({ event: 'done', data: '[DONE]' }).toString()).toBe('event: done\ndata: [DONE]\n\n');
    expect(encodeFrame({ data: null }).toString()).toBe('data: null\n\n');
  });
});

describe('a stream', () => {
  /** Serves frames once; the server is `closing` after the last one if asked. */
  async function serve(frames: () => Frames, { closes = false, method = 'GET' as 'GET' | 'HEAD' } = {}) {
    const http = Fastify({ logger: false });
    const closing = new AbortController();
    const waiting = createStreamBudget();
    async function* all() {
      yield* frames();
      if (closes) closing.abort();
    }
    http.route({
      method: ['GET', 'HEAD'],
      url: '/',
      handler: async (_, reply) =>
        sendEvents(reply, all(), { closing: closing.signal, disconnect: createDisconnectSignal(reply), waiting }),
    });
    await http.listen({ port: 0, host: '127.0.0.1' });
    const { port } = http.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method });
    const body = await answer.text().catch((error: Error) => error);
    await http.close();
    return { answer, body };
  }
  async function* framesOf(...frames: unknown[]): Frames {
    for (const frame of frames) yield frame as never;
  }

  it('opens with a comment and headers that no proxy buffers, and ends without a word', async () => {
    const { answer, body } = await serve(() => framesOf({ id: 7, data: 1 }, encodeFrame({ id: 8, data: 2 })));
    expect(body).toBe(': open\n\nid: 7\ndata: 1\n\nid: 8\ndata: 2\n\n');
    expect(['content-type', 'cache-control', 'x-accel-buffering'].map((name) => answer.headers.get(name))).toEqual([
      'text/event-stream',
      'no-cache',
      'no',
    ]);
  });

  it('says when to come back if it ends because the server stops', async () => {
    const { body } = await serve(() => framesOf({ id: 7, data: 1 }), { closes: true });
    expect(body).toBe(': open\n\nid: 7\ndata: 1\n\nretry: 1000\n\n');
  });

  it('sends a large frame whole and in order, loads it late, and skips one that is gone', async () => {
    const long = Array.from({ length: 700_000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join('');
    const loads: number[] = [];
    const { body } = await serve(() =>
      framesOf(
        async () => {
          loads.push(1);
          return { id: 1, data: long };
        },
        async () => null,
        { id: 3, data: 'end' },
      ),
    );
    expect(body === `: open\n\nid: 1\ndata: ${long}\n\nid: 3\ndata: end\n\n`).toBe(true);
    expect(loads.length).toBeGreaterThan(0);
  });

  it('breaks off if its source fails, so that nobody takes it for complete', async () => {
    const { body } = await serve(async function* () {
      yield { id: 1, data: 1 };
      throw new Error('no more');
    });
    expect(body).toBeInstanceOf(Error);
  });

  it('is not opened by HEAD', async () => {
    const { answer, body } = await serve(() => framesOf({ id: 7, data: 1 }), { method: 'HEAD' });
    expect([answer.status, answer.headers.get('content-type'), body]).toEqual([200, 'text/event-stream', '']);
  });
});

describe('a client that takes its time', () => {
  /** Opens a stream whose client takes a frame only at a call of `take`. */
  function open(frames: Frames) {
    const [sent, logged]: [string[], unknown[]] = [[], []];
    const waiting: (() => void)[] = [];
    const raw = Object.assign(new EventEmitter(), {
      ...{ destroyed: false, writableLength: 0, writeHead: () => {}, end: () => void sent.push('end') },
      write(text: string | Buffer, done = () => {}) {
        sent.push(String(text).trim());
        raw.writableLength += 20_000;
        waiting.push(() => {
          raw.writableLength -= 20_000;
          done();
        });
      },
      destroy() {
        raw.destroyed = true;
        raw.emit('close');
      },
    });
    const disconnect = new AbortController();
    const reply = {
      ...{ type: () => reply, header: () => reply, hijack: () => reply, raw, statusCode: 200, getHeaders: () => ({}) },
      ...{ request: { method: 'GET' }, log: { error: (...line: unknown[]) => void logged.push(line) } },
    } as unknown as FastifyReply;
    const closing = new AbortController().signal;
    sendEvents(reply, frames, { closing, disconnect: disconnect.signal, waiting: createStreamBudget() });
    const settle = async () => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    };
    const take = () => {
      waiting.shift()!();
      return settle();
    };
    return { raw, sent, logged, disconnect, settle, take };
  }

  it('gets a frame once it has taken the one before, and signs of life only between them', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { raw, sent, settle, take } = open(
      (async function* () {
        yield { id: 1, data: 1 };
        await new Promise(() => {});
      })(),
    );
    await settle();
    expect(sent).toEqual([': open']);
    await take();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(sent).toEqual([': open', 'id: 1\ndata: 1']);
    await take();
    await vi.advanceTimersByTimeAsync(15_000);
    expect(sent.at(-1)).toBe(': keep-alive');
    await vi.advanceTimersByTimeAsync(15_000);
    expect([sent.length, raw.destroyed]).toEqual([3, false]);
  });

  it('gets nothing more once it has left, which is no fault', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { raw, sent, settle, logged } = open(
      (async function* () {
        yield { id: 1, data: 1 };
      })(),
    );
    await settle();
    raw.destroy();
    await settle();
    expect([sent, logged, vi.getTimerCount()]).toEqual([[': open'], [], 0]);
  });

  it.each([
    ['is still there', false, 1],
    ['has left', true, 0],
  ])('that %s: a failure of its stream is in the log only if it is still there', async (_, has_left, lines) => {
    const { logged, disconnect, take, settle } = open(
      (async function* () {
        yield { id: 1, data: 1 };
        throw new Error('no more');
      })(),
    );
    if (has_left) disconnect.abort();
    await settle();
    await take();
    await take();
    expect(logged).toHaveLength(lines);
  });
});

describe('the end of a reply', () => {
  const replyOf = (writableFinished: boolean) => {
    const raw = Object.assign(new EventEmitter(), { writableFinished });
    const signals = [createDisconnectSignal({ raw } as never), createEndSignal({ raw } as never)];
    raw.emit('close');
    return signals.map(({ aborted }) => aborted);
  };
  it('is a disconnect only if the client does not have all of it', () => {
    expect([replyOf(false), replyOf(true)]).toEqual([
      [true, true],
      [false, true],
    ]);
  });
});

describe('an open stream', () => {
  const caller = (more: object) => ({ access_token: 'token', ...more }) as unknown as Caller;
  function watch(who: Caller, answers: (() => Promise<unknown>)[]) {
    vi.useFakeTimers();
    const asked: string[] = [];
    const raw = new EventEmitter();
    const ended = createTokenWatch((async (token: string) => {
      asked.push(token);
      return (answers.shift() ?? (async () => ({})))();
    }) as never)(who, { raw } as unknown as FastifyReply);
    return { asked, raw, ended };
  }
  const LATER = { service_key: { id: 'k' } };

  it.each([
    ['a service key', LATER],
    ['a token that expires', { valid_until: 0 }],
  ])('of %s ends soon after it is not valid any more, and not because that cannot be checked', async (_, more) => {
    const { asked, ended } = watch(caller(more), [
      async () => ({}),
      async () => Promise.reject(new Error('down')),
      async () => null,
    ]);
    await vi.advanceTimersByTimeAsync(8_999);
    expect([asked, ended.aborted]).toEqual([['token', 'token'], false]);
    await vi.advanceTimersByTimeAsync(1);
    expect([asked.length, ended.aborted]).toEqual([3, true]);
  });

  it('of another token is never checked, and none is once it is closed', async () => {
    const plain = watch(caller({}), []);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([plain.asked, vi.getTimerCount()]).toEqual([[], 0]);
    const { raw, asked } = watch(caller(LATER), []);
    raw.emit('close');
    await vi.advanceTimersByTimeAsync(60_000);
    expect([asked, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('a client', () => {
  const STALL_SECONDS = 0.2;
  async function serving(answer: (response: ServerResponse) => void) {
    const server = createServer((_, response) => answer(response));
    cutStalled(server, STALL_SECONDS);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const stop = async () => {
      server.closeAllConnections();
      server.close();
    };
    return { port, [Symbol.asyncDispose]: stop };
  }

  it('that accepts nothing of its reply is cut off', async () => {
    const closed = Promise.withResolvers<boolean>();
    await using server = await serving((response) => {
      response.on('close', () => closed.resolve(response.writableFinished));
      response.end(Buffer.alloc(64 * 1024 * 1024));
    });
    const socket = connect(server.port, '127.0.0.1').pause();
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await closed.promise).toBe(false);
    socket.destroy();
  });

  it('whose reply takes long to begin is not', async () => {
    await using server = await serving((response) => void setTimeout(() => response.end('late'), STALL_SECONDS * 2_500));
    const [answer] = (await once(get({ port: server.port, host: '127.0.0.1' }), 'response')) as [IncomingMessage];
    expect(await text(answer)).toBe('late');
  });
});

describe('readiness', () => {
  const ask = (checks: Record<string, () => Promise<string>>) => {
    const http = Fastify();
    readinessRoute(http, { checks, runner: { isolation: 'namespaces' as never } });
    return http.inject('/health/ready');
  };
  it('is 503 if one check fails, with the state of each', async () => {
    const outage = asOutage(new Error('at 10.0.0.1:5432'), { code: 'database_unavailable', sentence: 'The database is down' });
    const answer = await ask({
      engine: async () => 'fine',
      bus: async () => Promise.reject(new Error('The bus is down')),
      database: async () => Promise.reject(outage),
      disk: async () => Promise.reject(new Error('')),
    });
    expect(answer.statusCode).toBe(503);
    const { status, checks, tool_isolation } = answer.json();
    expect([status, tool_isolation]).toEqual(['not_ready', 'namespaces']);
    expect(checks).toEqual({
      engine: { ok: true, detail: 'fine' },
      bus: { ok: false, detail: 'The bus is down' },
      database: { ok: false, detail: 'The database is down' },
      disk: { ok: false, detail: 'failed' },
    });
    const ready = await ask({ engine: async () => 'fine', bus: async () => 'ok' });
    expect([ready.statusCode, ready.json().status]).toEqual([200, 'ready']);
  });

  it('does not wait for a check that does not answer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = Promise.withResolvers<void>();
    const silent = () => {
      asked.resolve();
      return new Promise<string>(() => {});
    };
    const answering = ask({ silent, engine: async () => 'fine' });
    await asked.promise;
    await vi.advanceTimersByTimeAsync(3_000);
    const answer = await answering;
    expect([answer.statusCode, answer.json().checks]).toEqual([
      503,
      { silent: { ok: false, detail: 'no answer in time' }, engine: { ok: true, detail: 'fine' } },
    ]);
  });
});
