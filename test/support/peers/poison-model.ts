import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Answer } from './model-server.ts';

const MIB = 1_024 * 1_024;
const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };

export const frame = (delta: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;

/** Writes as fast as the client reads, until so many bytes are written or nobody reads any more. */
async function pour(response: ServerResponse, piece: string, bytes: number): Promise<void> {
  const gone = once(response, 'close');
  for (let sent = 0; sent < bytes && !response.destroyed; sent += piece.length)
    if (!response.write(piece)) await Promise.race([once(response, 'drain'), gone]);
}

/** Sends a body of so many bytes after `head`. */
export const pours =
  (
    status: number,
    type: object,
    { head, piece = 'x'.repeat(MIB), bytes = 300 * MIB }: { head: string; piece?: string; bytes?: number },
  ): Answer =>
  async (response) => {
    response.writeHead(status, { ...type });
    response.write(head);
    await pour(response, piece, bytes);
    response.end();
  };

/** Sends events unchanged. */
export const events =
  (...frames: string[]): Answer =>
  (response) => {
    response.writeHead(200, EVENTS);
    response.end(`${frames.join('')}data: [DONE]\n\n`);
  };

export const called = (name: string, args = '{}', index = 0) =>
  frame({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name, arguments: args } }] });

export const finished = (reason: unknown = 'stop') => frame({}, { finish_reason: reason });

export const answers =
  (status: number, headers: Record<string, string>, body?: string | Buffer): Answer =>
  (response) => {
    response.writeHead(status, headers);
    response.end(body);
  };

/** Sends a word now and then, forever. */
export const drips: Answer = async (response) => {
  response.writeHead(200, EVENTS);
  while (!response.destroyed) {
    response.write(frame({ content: 'word ' }));
    await wait(300);
  }
};

export const POISONS = {
  'a line of 300 MB': [pours(200, EVENTS, { head: 'data: {"a":"' }), 'model_answer_too_large'],
  'a body that unpacks to 100 MB': [
    answers(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(Buffer.alloc(100 * MIB, ' '))),
    'model_answer_too_large',
  ],
  'headers of 100 KB': [answers(200, { ...EVENTS, 'x-long': 'x'.repeat(100_000) }), 'model_answer_too_large'],
  'a call by a name of 3 MB': [events(called('x'.repeat(3 * MIB)), finished('tool_calls')), 'tool_name_too_long'],
  '300 calls': [
    events(...Array.from({ length: 300 }, (_, index) => called('look', '{}', index)), finished('tool_calls')),
    'tool_calls_too_many',
  ],
  'arguments nested 5,000 deep': [
    events(called('look', `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`), finished('tool_calls')),
    'tool_arguments_too_deep',
  ],
  'arguments of 3 MB': [
    events(called('look', JSON.stringify({ a: 'x'.repeat(3 * MIB) })), finished('tool_calls')),
    'tool_arguments_too_large',
  ],
  'a 204': [answers(204, {}), 'empty_answer'],
  'a page': [answers(200, { 'content-type': 'text/html; charset=utf-8' }, '<html>Sign in</html>'), 'model_sent_html'],
  'no text where text belongs': [
    answers(200, JSON_TYPE, '{"choices":[{"message":{"content":{}},"finish_reason":7}]}'),
    'model_stream_cut',
  ],
  'choices that are none': [answers(200, JSON_TYPE, '{"choices":5}'), 'bad_model_response'],
  nothing: [answers(200, JSON_TYPE, 'null'), 'bad_model_response'],
  'a word now and then, forever': [drips, 'model_deadline'],
} satisfies Record<string, [Answer, string]>;

/** More answers of such sizes, which take longer. */
export const LARGE_POISONS = {
  'a refusal with a body of 450 MB': [pours(400, JSON_TYPE, { head: '{"error":{"message":"', bytes: 450 * MIB }), 'model_error'],
  'a JSON body of 300 MB': [pours(200, JSON_TYPE, { head: '{"a":"' }), 'model_answer_too_large'],
  'a stream of 300 MB': [
    pours(200, EVENTS, { head: frame({ content: 'x' }), piece: `: ${'x'.repeat(1_000)}\n\n`.repeat(1_000) }),
    'model_answer_too_large',
  ],
  'thought without end': [
    events(...Array.from({ length: 300 }, () => frame({ reasoning_content: 'x'.repeat(32_768) })), finished()),
    'model_answer_too_large',
  ],
  'a call by a name of 10 MB': [
    events(...Array.from({ length: 10 }, () => called('x'.repeat(MIB))), finished('tool_calls')),
    'model_answer_too_large',
  ],
} satisfies Record<string, [Answer, string]>;
