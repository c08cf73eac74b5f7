import { EventEmitter } from 'node:events';
import Fastify, { type FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { refuseIfCrowded } from '../../../src/api/http/crowded.ts';
import { type Gate, streamGate, uploadGate } from '../../../src/api/http/gate.ts';
import { createIdempotency } from '../../../src/api/http/idempotency.ts';
import { parseJsonBody } from '../../../src/api/http/json-body.ts';
import { refuseInOurWords } from '../../../src/api/http/problems.ts';
import type { AppError } from '../../../src/domain/errors.ts';

describe('a gate', () => {
  const openReply = () => ({ raw: new EventEmitter() }) as unknown as FastifyReply;
  const end = ({ raw }: FastifyReply) => void raw.emit('close');
  const enter = (gate: Gate, key: string) => {
    const reply = openReply();
    try {
      gate(key, reply);
      return { reply, refusal: null };
    } catch (error) {
      return { reply, refusal: error as AppError };
    }
  };

  it.each([
    ['streams', streamGate, 'streams_limit', 'streams open', 'STREAMS_PER_PRINCIPAL', 'STREAMS_OPEN'],
    ['uploads', uploadGate, 'uploads_limit', 'uploads in progress', 'UPLOADS_PER_PRINCIPAL', 'UPLOADS_IN_PROGRESS'],
  ] as const)(
    'for %s counts each caller and all together, until the replies have ended',
    (_, create, code, what, each, total) => {
      const gate = create({ each: 2, total: 5 });
      const one = [enter(gate, 'a'), enter(gate, 'a')];
      expect(enter(gate, 'a').refusal).toMatchObject({
        ...{ kind: 'too_many', code },
        message: `You have 2 ${what} already, as many as ${each} allows; end one or try again shortly`,
      });
      const others = ['b', 'b', 'c'].map((key) => enter(gate, key));
      expect([...one, ...others].map(({ refusal }) => refusal)).toEqual([null, null, null, null, null]);
      expect(enter(gate, 'd').refusal).toMatchObject({
        ...{ kind: 'too_many', code },
        message: `This service has 5 ${what} already, as many as ${total} allows; end one or try again shortly`,
      });
      end(one[0]!.reply);
      // A reply that closes twice frees one place.
      end(one[0]!.reply);
      expect(enter(gate, 'a').refusal).toBeNull();
      expect(enter(gate, 'a').refusal).toMatchObject({ message: expect.stringContaining(each) });
      for (const { reply } of others) end(reply);
      const later = ['d', 'd', 'e', 'e'].map((key) => enter(gate, key).refusal?.message);
      expect(later).toEqual([undefined, undefined, undefined, expect.stringContaining(total)]);
    },
  );

  it('without a limit for all has none', () => {
    const gate = streamGate({ each: 1 });
    expect(Array.from({ length: 101 }, (_, key) => enter(gate, String(key)).refusal).filter(Boolean)).toEqual([]);
  });
});

it('a request is refused at once while too many wait for the database, with the time to wait', async () => {
  const http = Fastify();
  let crowded = true;
  refuseInOurWords(http);
  refuseIfCrowded(http, () => crowded);
  http.get('/', async () => 'served');
  const refused = await http.inject('/');
  expect([refused.statusCode, refused.json().code, refused.headers['retry-after']]).toEqual([503, 'too_many_waiting', '2']);
  crowded = false;
  expect((await http.inject('/')).body).toBe('served');
});

it('a repeated request gets the reply that another server stored first, and a new one its own', async () => {
  const serve = (kept: object) => {
    const store = { claim: async () => ({ kind: 'new', reserved_id: 'i' }), keep: async () => kept };
    const request = { method: 'POST', url: '/', headers: { 'idempotency-key': 'k' }, caller: { key: 'local:ann' } };
    return createIdempotency(store as never)(request as never, async (id) => ({ id }));
  };
  expect(await serve({ kind: 'answered', reply: 'first' })).toEqual({ value: 'first', replayed: true });
  expect(await serve({ kind: 'kept' })).toEqual({ value: { id: 'i' }, replayed: false });
});

describe('a JSON body', () => {
  const MOST = 12;
  async function send(
    text: string | Buffer,
    config: object = {},
    headers: Record<string, string> = {},
  ): Promise<Record<string, any>> {
    const http = Fastify();
    refuseInOurWords(http);
    parseJsonBody(http, MOST);
    http.post('/', { config }, async ({ body, rounded }) => ({ body: body ?? null, rounded: rounded ?? [] }));
    const answer = await http.inject({
      ...{ method: 'POST', url: '/', payload: text },
      headers: { 'content-type': 'application/json', ...headers },
    });
    return { status: answer.statusCode, ...answer.json() };
  }
  const list = (length: number) => `[${Array.from({ length }, () => '1').join()}]`;

  it.each([
    ['items of a list', list(MOST - 1), list(MOST)],
    ['members of an object', `{${'"a":1,'.repeat(MOST - 2)}"b":1}`, `{${'"a":1,'.repeat(MOST - 1)}"b":1}`],
    ['lists in lists', '['.repeat(MOST - 1) + ']'.repeat(MOST - 1), '['.repeat(MOST) + ']'.repeat(MOST)],
  ])('holds as many values as are allowed, and no more: %s', async (_, allowed, refused) => {
    expect((await send(allowed)).status).toBe(200);
    expect(await send(refused)).toMatchObject({
      status: 413,
      code: 'json_values_limit',
      detail: expect.stringContaining(`${MOST} values`),
    });
  });

  it('may hold any number of commas and brackets within its texts, after an escaped quote too', async () => {
    const text = `${'[,{'.repeat(99)}"${'],'.repeat(99)}\\`;
    expect((await send(JSON.stringify({ text }))).body).toEqual({ text });
  });

  it('may be empty, and otherwise is JSON in UTF-8 that is not packed', async () => {
    expect(await send('  ')).toMatchObject({ status: 200, body: null });
    expect(await send('{"a": ')).toMatchObject({ status: 400, code: 'malformed_body' });
    expect(await send(Buffer.from([0x22, 0xff, 0x22]))).toMatchObject({ status: 400 });
    expect(await send('{}', {}, { 'content-encoding': 'gzip' })).toMatchObject({
      status: 415,
      code: 'unsupported_content_encoding',
    });
    expect((await send('{}', {}, { 'content-encoding': 'identity' })).status).toBe(200);
  });

  it('may have comments and exact numbers only where the operation takes them', async () => {
    const commented = '{"a": 1, /* one */ }';
    expect((await send(commented)).status).toBe(400);
    expect((await send(commented, { commented: true })).body).toEqual({ a: 1 });
    const long = '{"a": 12345678901234567890}';
    expect((await send(long)).rounded).toEqual([{ path: 'a', message: expect.stringContaining('send it as a text') }]);
    expect((await send(long, { exact: true })).rounded).toEqual([]);
  });
});
