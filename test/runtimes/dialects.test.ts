import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getDialect } from '../../src/domain/dialect.ts';
import { isUnknownFinish } from '../../src/domain/finish.ts';
import { chatRequest } from '../../src/runtimes/chat-request.ts';
import type { ModelReply } from '../../src/runtimes/runtime.ts';
import { type Answer, type ModelServer, startModelServer } from '../support/peers/model-server.ts';
import { exchangeOf, failure, reply } from './support.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const tool = (name: string) => ({ name, description: name, parameters: { type: 'object' }, effect: 'read' as const });
const TOOLS = ['look', 'tags', 'ping'].map(tool);

/** A body as an endpoint sends it, with its label. */
interface Body {
  status?: number;
  type?: string | null;
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

const stored = (name: string): Body => ({ body: readFileSync(new URL(`dialects/${name}.sse`, import.meta.url)) });

const answer =
  ({ status = 200, type = 'text/event-stream', headers = {}, body }: Body): Answer =>
  (response) =>
    void response.writeHead(status, { ...headers, ...(type === null ? {} : { 'content-type': type }) }).end(body);

function ask(body: Body, api: 'chat' | 'messages' = 'chat') {
  server.script(answer(body));
  return api === 'chat'
    ? reply({ base_url: server.url }, { tools: TOOLS })
    : reply(
        { provider_type: 'anthropic_messages', base_url: server.url.replace('/v1', ''), api_key_token_name: 'key' },
        { tools: TOOLS },
      );
}

describe('calls are assembled', () => {
  const OSLO = { name: 'look', arguments: '{"city":"Oslo"}' };
  const ROME = { name: 'look', arguments: '{"city":"Rome"}' };
  it.each<[string, ModelReply['calls'][number][] | object[]]>([
    ['noindex_same_chunk', [OSLO, ROME]],
    ['noindex_noid_same_chunk', [OSLO, ROME]],
    ['noindex_noid_two', [OSLO, ROME]],
    ['index1_start', [OSLO]],
    ['index7_then_none', [OSLO]],
    ['index0_empty_ids', [OSLO, ROME]],
    ['index0_null_ids', [OSLO, ROME]],
    ['id_changes_once', [OSLO]],
    ['name_each_chunk', [OSLO]],
    ['name_in_pieces', [OSLO]],
    ['args_emptystr_then_string', [OSLO]],
    ['args_empty_then_string', [OSLO]],
    ['m_tool_braces', [OSLO]],
  ])('%s', async (name, expected) => {
    const { calls } = await ask(stored(name), name.startsWith('m_') ? 'messages' : 'chat');
    expect(calls.map(({ id: _, ...call }) => call)).toEqual(expected);
  });
});

const frame = (body: unknown) => `data: ${JSON.stringify(body)}\n\n`;
const chunk = (delta: object, finish_reason: unknown = null, more: object = {}) =>
  frame({ id: 'c', model: 'scripted', choices: [{ index: 0, delta, finish_reason }], ...more });
const HALF = chunk({ content: 'half' });
const DONE = 'data: [DONE]\n\n';
const WHOLE = `${chunk({ content: 'whole answer' })}${chunk({}, 'stop')}${DONE}`;
const WHOLE_JSON = {
  id: 'c',
  model: 'scripted',
  choices: [{ index: 0, message: { role: 'assistant', content: 'whole answer' } }],
};

describe('calls of older servers are assembled', () => {
  const named = { name: 'look', arguments: '{"city":"Oslo"}' };
  it.each<[string, object[]]>([
    ['as function_call', [{ function_call: named }]],
    [
      'as function_call in pieces',
      [{ function_call: { name: 'look', arguments: '{"city":' } }, { function_call: { arguments: '"Oslo"}' } }],
    ],
    ['as one call in place of a list', [{ tool_calls: { index: 0, id: 'a', function: named } }]],
    ['with fields next to the function', [{ tool_calls: [{ index: 0, id: 'a', ...named }] }]],
    [
      'with an object for the text',
      [{ tool_calls: [{ index: 0, id: 'a', function: { ...named, arguments: { city: 'Oslo' } } }] }],
    ],
  ])('%s', async (_, deltas) => {
    const { calls } = await ask({ body: deltas.map((delta) => chunk(delta)).join('') + chunk({}, 'tool_calls') + DONE });
    expect(calls.map(({ id: __, ...call }) => call)).toEqual([named]);
  });
});

describe('an answer ends', () => {
  it.each<[string, Body]>([
    ['with [DONE] alone', stored('done_no_finish')],
    ['with a JSON body that gives no reason', { type: 'application/json', body: JSON.stringify(WHOLE_JSON) }],
    [
      'with its usage',
      { body: chunk({ content: 'whole answer' }) + frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }) },
    ],
    ['with a finish_reason of another vendor', { body: chunk({ content: 'whole answer' }) + chunk({}, 'end_turn') }],
    ...['FinishReason.STOP', 'FINISH_REASON_STOP', 'stop-sequence', 'End Turn'].map((word): [string, Body] => [
      `with ${word}`,
      { body: chunk({ content: 'whole answer' }) + chunk({}, word) },
    ]),
    ['with "null" before its reason', { body: chunk({ content: 'whole answer' }, 'null') + chunk({}, 'STOP') }],
  ])('%s', async (_, body) => {
    expect(await ask(body)).toMatchObject({ text: 'whole answer', finish: 'stop' });
  });

  it.each(['null', 'none', 'FINISH_REASON_UNSPECIFIED', 'NOT_FINISHED', 'incomplete'])('not with %s', async (reason) => {
    expect(await failure(ask({ body: chunk({ content: 'half' }, reason) }))).toMatchObject({ code: 'model_stream_cut' });
  });

  it('not with text that nobody expects, which is shown', async () => {
    const failed = await failure(ask({ body: 'data: the queue is full\n\n' }));
    expect(failed).toMatchObject({ code: 'bad_model_response', recoverable: true });
    expect(failed.message).toContain('the queue is full');
  });

  it('with [DONE] after its calls', async () => {
    const { calls, finish } = await ask(stored('args_no_finish_done'));
    expect({ calls: calls.length, finish }).toEqual({ calls: 1, finish: 'tool_calls' });
  });

  it('after a call with whole arguments, but not after a part of one', async () => {
    const calls = (args: string) => chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: args } }] });
    expect(await ask({ body: calls('{"city":"Oslo"}') })).toMatchObject({ finish: 'tool_calls' });
    expect(await failure(ask({ body: calls('{"city":') }))).toMatchObject({ code: 'model_stream_cut', recoverable: true });
  });

  it('not after a placeholder whose arguments were cut', async () => {
    const call = (args: unknown) => chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: args } }] });
    for (const args of ['{}', {}, 'null', '""']) {
      expect(await failure(ask({ body: call(args) }))).toMatchObject({ code: 'model_stream_cut', recoverable: true });
      expect(await ask({ body: call(args) + DONE })).toMatchObject({ finish: 'tool_calls', calls: [{ name: 'look' }] });
    }
  });

  it.each<[string, Body]>([
    ['text without an end', { body: HALF }],
    ['an end mark without an answer', { body: DONE }],
  ])('not with %s', async (_, body) => {
    expect(await failure(ask(body))).toMatchObject({ code: 'model_stream_cut', recoverable: true });
  });

  it.each([
    ...['error', 'insufficient_system_resource', 'malformed_function_call', 'abort', 'network_error', 'MALFORMED_FUNCTION_CALL'],
    ...[
      'function_call_filter: MALFORMED_FUNCTION_CALL',
      'UNEXPECTED_TOOL_CALL',
      'ERROR',
      'USER_CANCEL',
      'timeout',
      'engine_failure',
    ],
    ...['malformed_tool_use', 'OTHER', 'time_limit', 'FinishReason.MALFORMED_FUNCTION_CALL'],
  ])('as failed with %s, which is asked again', async (reason) => {
    const failed = await failure(ask({ body: HALF + chunk({}, reason) + DONE }));
    expect(failed).toMatchObject({ code: 'model_error', recoverable: true });
    expect(failed.message).toContain(reason);
    expect(failed.message.includes('a tool call that its endpoint cannot read')).toBe(
      /tool_use|tool_call|function_call/i.test(reason),
    );
  });

  it.each(['finish_error', 'finish_insufficient'])('as failed in %s', async (name) => {
    expect(await failure(ask(stored(name)))).toMatchObject({ code: 'model_error', recoverable: true });
  });

  it.each(['content_filter', 'SAFETY', 'sensitive', 'guardrail_intervened', 'RECITATION', 'ERROR_TOXIC'])(
    'filtered with %s',
    async (reason) => {
      expect(await failure(ask({ body: HALF + chunk({}, reason) + DONE }))).toMatchObject({ code: 'content_filter' });
    },
  );

  it.each(['length', 'max_tokens', 'MAX_TOKENS', 'model_length', 'token_limit', 'model_context_window_exceeded'])(
    'cut with %s',
    async (reason) => {
      expect(await ask({ body: HALF + chunk({}, reason) + DONE })).toMatchObject({ text: 'half', finish: 'length' });
    },
  );

  it('cut at the window of the Messages API', async () => {
    expect(await ask(stored('m_window'), 'messages')).toMatchObject({ text: 'half', finish: 'length' });
    expect(await ask(stored('finish_length_text'))).toMatchObject({ finish: 'length' });
  });

  it.each(['satisfied', 'constructor', 'toString', '__proto__'])(
    'with a reason that nobody knows, which is kept: %s',
    async (word) => {
      expect(await ask({ body: HALF + chunk({}, word) + DONE })).toMatchObject({ text: 'half', finish: word });
      expect(isUnknownFinish(word)).toBe(true);
    },
  );
});

describe('a body is judged by its bytes', () => {
  const JSON_BODY = JSON.stringify(WHOLE_JSON);
  it.each<[string, Body]>([
    ...[
      'text/plain',
      null,
      'application/json',
      'text/html; charset=utf-8',
      'TEXT/EVENT-STREAM',
      'application/octet-stream',
    ].flatMap((type): [string, Body][] => [
      [`events labelled ${type}`, { type, body: WHOLE }],
      [`JSON labelled ${type}`, { type, body: JSON_BODY }],
    ]),
    ['JSON after blank lines', { type: 'application/json', body: `\n\n  \n${JSON_BODY}` }],
    ['JSON after comments', { body: `: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n${JSON_BODY}` }],
    ['JSON in lines', { type: 'application/x-ndjson', body: WHOLE.replaceAll('data: ', '').replace('[DONE]', '') }],
    ['events with a byte order mark', { body: `\uFEFF${WHOLE}` }],
    ['JSON with a byte order mark', { type: 'application/json', body: `\uFEFF${JSON_BODY}` }],
    ['empty events', stored('event_keepalive_empty')],
  ])('%s', async (_, body) => {
    expect(await ask(body)).toMatchObject({ text: 'whole answer', streamed: 'whole answer', finish: 'stop' });
  });

  const SIGNS = [
    'data:',
    'data: ',
    ': OPENROUTER PROCESSING',
    ': keep-alive',
    'event: ping\ndata: {"type":"ping"}',
    'event: ping',
    ':',
    '   ',
  ];
  const MORE_SIGNS = [
    'data: null',
    'data: {}',
    'data: ping',
    'event: keepalive\ndata: 1',
    'data: : keep-alive',
    'event: heartbeat\ndata:',
    'retry: 3000',
    'id: 7',
    'event: ping\ndata: {"message":"still here"}',
  ];
  const withSigns = (sign: string, end = DONE) => `${sign}\n\n${HALF}${sign}\n\n${chunk({}, 'stop')}${sign}\n\n${end}`;
  it.each([...SIGNS, ...MORE_SIGNS])('the sign of life %j is skipped', async (sign) => {
    for (const [from, to] of [
      ['', ''],
      ['\n', '\r\n'],
      ['\n', '\r'],
    ] as const)
      expect(await ask({ body: withSigns(sign).replaceAll(from || '\n', to || '\n') })).toMatchObject({
        text: 'half',
        finish: 'stop',
      });
  });

  it('nothing counts after the end mark', async () => {
    expect(await ask({ body: HALF + chunk({}, 'stop') + DONE + chunk({ content: ' more' }) })).toMatchObject({ text: 'half' });
  });

  it.each(['data: ping', 'data: PROCESSING', ': alive'])('the sign of life %j alone is a stream that broke off', async (sign) => {
    expect(await failure(ask({ body: `${sign}\n\n` }))).toMatchObject({ code: 'model_stream_cut', recoverable: true });
  });

  it.each(['the engine is dead', '{"why":"the engine is dead"}'])('an event named error with %j is one', async (data) => {
    const failed = await failure(ask({ body: `${HALF}event: error\ndata: ${data}\n\n${chunk({}, 'stop')}${DONE}` }));
    expect(failed).toMatchObject({ code: 'model_error' });
    expect(failed.message).toContain('the engine is dead');
  });

  const ENDS = [
    'data:[DONE]',
    'data: [done]',
    'data:  [DONE] ',
    'data: "[DONE]"',
    'data: DONE',
    '[DONE]',
    'event: done\ndata: [DONE]',
  ];
  it.each(ENDS)('the end mark %j is one', async (mark) => {
    const body = `${chunk({ content: 'half' })}${mark}\n\n`;
    expect(await ask({ body })).toMatchObject({ text: 'half', finish: 'stop' });
  });

  it('events without empty lines between them', async () => {
    expect(await ask({ body: WHOLE.replaceAll('\n\n', '\n') })).toMatchObject({ text: 'whole answer' });
  });

  it('text that explains why a stream ended', async () => {
    const { code, message } = await failure(ask({ body: `${HALF}data: upstream is gone\n\n` }));
    expect({ code, message }).toEqual({
      code: 'model_stream_cut',
      message: 'The model broke off its answer: upstream is gone',
    });
  });

  it.each<[string, Body, object]>([
    ['a web page', { type: 'application/json', body: '<!doctype html><title>Sign in</title>' }, { code: 'model_sent_html' }],
    [
      'plain text',
      { body: 'upstream request timeout' },
      { code: 'bad_model_response', message: expect.stringContaining('upstream request timeout') },
    ],
    ['cut JSON', { type: 'application/json', body: '{"choices": [' }, { code: 'bad_model_response', recoverable: true }],
  ])('%s is a failure', async (_, body, expected) => {
    expect(await failure(ask(body))).toMatchObject(expected);
  });

  it('also for the Messages API', async () => {
    const message = { type: 'message', model: 'm', content: [{ type: 'text', text: 'whole answer' }], stop_reason: 'end_turn' };
    expect(await ask({ type: 'text/plain', body: JSON.stringify(message) }, 'messages')).toMatchObject({ text: 'whole answer' });
  });
});

describe('an error is shown in the words of the vendor', () => {
  const MESSAGE = 'the engine is dead';
  const quoted = JSON.stringify({ error: { message: MESSAGE } });
  const SHAPES: [string, unknown][] = [
    ['OpenAI', { error: { message: MESSAGE, type: 'server_error', code: null } }],
    ['a text', { error: MESSAGE }],
    ['Anthropic', { type: 'error', error: { type: 'api_error', message: MESSAGE } }],
    ['Gemini', [{ error: { code: 500, message: MESSAGE, status: 'INTERNAL' } }]],
    ['vLLM', { object: 'error', message: MESSAGE, type: 'InternalServerError', code: 500 }],
    ['FastChat', { text: MESSAGE, error_code: 50001 }],
    ['FastAPI', { detail: MESSAGE }],
    ['FastAPI, an object', { detail: { error: MESSAGE } }],
    ['DashScope', { code: 'InternalError', message: MESSAGE, request_id: 'r' }],
    ['MiniMax', { base_resp: { status_code: 1000, status_msg: MESSAGE } }],
    ['Baidu', { error_code: 336000, error_msg: MESSAGE }],
    ['Cloudflare', { success: false, errors: [{ code: 5007, message: MESSAGE }], messages: [], result: null }],
    ['Amazon', { __type: 'InternalServerException', Message: MESSAGE }],
    ['OpenRouter', { error: { code: 502, message: 'Provider returned error', metadata: { raw: quoted } } }],
    ['a choice', { choices: [{ index: 0, delta: {}, error: { code: 502, message: MESSAGE } }] }],
    ['a gateway that quotes JSON', { error: { message: `litellm.APIError: OpenAIException - ${quoted}` } }],
    ['a gateway that quotes Python', { error: { message: `Error code: 500 - {'error': {'message': '${MESSAGE}', 'code': 1}}` } }],
    ['JSON within JSON', { error: { message: quoted } }],
    ['Apigee', { fault: { faultstring: MESSAGE, detail: { errorcode: 'x' } } }],
    ['Responses', { type: 'response.failed', response: { error: { code: 'server_error', message: MESSAGE } }, status: 'failed' }],
  ];
  const expectWords = ({ message }: { message: string }) => {
    expect(message).toContain(MESSAGE);
    expect(message).not.toMatch(/[{}"[\]\\]/);
  };

  it.each(SHAPES)('%s, with a status', async (_, body) => {
    for (const type of ['application/json', 'text/plain', null]) {
      const bodies = { status: 500, type, body: JSON.stringify(body) };
      for (const api of ['chat', 'messages'] as const) expectWords(await failure(ask(bodies, api)));
    }
  });

  it.each(SHAPES)('%s, within a stream', async (_, body) => {
    const failed = await failure(ask({ body: `${HALF}${frame(body)}${DONE}` }));
    expect(failed).toMatchObject({ code: 'model_error', recoverable: true });
    expectWords(failed);
  });

  it.each(SHAPES)('%s, in place of an answer', async (_, body) => {
    for (const api of ['chat', 'messages'] as const)
      expectWords(await failure(ask({ type: 'application/json', body: JSON.stringify(body) }, api)));
  });

  it.each([
    ['err_vllm', 'context is too long: 9000 tokens'],
    ['err_fastchat', 'NETWORK ERROR: the worker is gone'],
    ['err_detail', 'engine is dead'],
  ])('%s', async (name, words) => {
    expect((await failure(ask(stored(name)))).message).toBe(`The model's endpoint answered: ${words}`);
  });

  it.each<[string, Body, string]>([
    ['an event named error', { body: `event: error\ndata: ${MESSAGE}\n\n` }, MESSAGE],
    ['a web page', { status: 502, type: 'text/html', body: '<html><title>502 Bad Gateway</title></html>' }, '502 Bad Gateway'],
    [
      'a web page that a gateway quotes',
      {
        status: 502,
        type: 'application/json',
        body: JSON.stringify({
          error: { message: 'litellm.BadGatewayError: <html>\n<title>Bad gateway</title></html>\n\nNo fallback.' },
        }),
      },
      'litellm.BadGatewayError: a web page (Bad gateway), not the answer of an API',
    ],
    [
      'XML',
      { status: 403, type: 'application/xml', body: `<Error><Code>Denied</Code><Message>${MESSAGE}</Message></Error>` },
      MESSAGE,
    ],
    ['nothing', { status: 503, type: null, body: '' }, 'Service Unavailable'],
    ['plain text', { status: 500, type: 'text/plain', body: MESSAGE }, MESSAGE],
  ])('%s', async (_, body, words) => {
    expect((await failure(ask(body))).message).toContain(words);
  });

  it('is not taken for one where an endpoint reports success', async () => {
    const fine = { base_resp: { status_code: 0, status_msg: 'success' }, error: null, code: 0, status: 'ok' };
    expect(await ask({ body: chunk({ content: 'half' }, 'stop', fine) + DONE })).toMatchObject({ text: 'half' });
    expect(await ask({ body: chunk({ content: 'half' }, 'stop', { error: {}, message: 'ok' }) + DONE })).toMatchObject({
      text: 'half',
    });
    for (const last of [
      { code: 200, message: 'success', choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } },
      { message: 'success', choices: [] },
      { message: 'success', usage: { prompt_tokens: 3, completion_tokens: 2 } },
      { code: 0, msg: 'success' },
      { code: '200', msg: 'success' },
      { error_code: '0', error_msg: 'success' },
      { base_resp: {}, choices: [] },
    ])
      expect(await ask({ body: chunk({ content: 'half' }, 'stop') + frame(last) + DONE })).toMatchObject({ text: 'half' });
  });

  it.each([{ code: '' }, { code: null }, { code: [] }, { usage: null }])('is taken for one with %j', async (more) => {
    const failed = await failure(ask({ body: HALF + frame({ ...more, message: MESSAGE }) + DONE }));
    expectWords(failed);
  });
});

describe('a refusal is', () => {
  const refused = (status: number, body: unknown, headers: Record<string, string> = {}): Body => ({
    ...{ status, headers, type: 'application/json', body: JSON.stringify(body) },
  });
  it.each<[string, Body]>([
    [
      'of OpenAI',
      refused(429, {
        error: { message: 'You exceeded your current quota.', type: 'insufficient_quota', code: 'insufficient_quota' },
      }),
    ],
    ['of OpenAI with a pause', refused(429, { error: { message: 'No.', code: 'insufficient_quota' } }, { 'retry-after': '1' })],
    ['of DeepSeek', refused(402, { error: { message: 'Insufficient Balance', type: 'unknown_error' } })],
    [
      'of Anthropic',
      refused(400, { type: 'error', error: { type: 'invalid_request_error', message: 'Your credit balance is too low' } }),
    ],
    ['of Moonshot', refused(429, { error: { message: 'suspended', type: 'exceeded_current_quota_error' } })],
    ['of LiteLLM', refused(400, { error: { message: 'Budget has been exceeded! Current cost: 1', type: 'budget_exceeded' } })],
    ...[
      'crossed budget: Exceeded budget for deployment: 2 >= 1',
      'User=u over budget.',
      'Team: t, exceeded budget for model=m',
    ].map((message): [string, Body] => [`of LiteLLM, ${message}`, refused(429, { error: { message, code: '429' } })]),
    ['of Azure', refused(403, { error: { code: 'billing_not_active', message: 'Pay.' } })],
    ['of DashScope', refused(400, { code: 'Arrearage', message: 'Access denied.' })],
    ['of OpenRouter', refused(402, { error: { code: 402, message: 'This request requires more credits' } })],
    ['within a stream', { body: frame({ error: { message: 'No.', code: 'insufficient_quota' } }) }],
  ])('an exhausted quota %s, which is not asked again', async (_, body) => {
    const failed = await failure(ask(body));
    expect(failed).toMatchObject({ code: 'quota_exhausted', recoverable: false });
    expect(failed.message).toContain('quota or credit is used up');
  });

  it('a limit that passes, if it names a pause', async () => {
    const message = 'You exceeded your current quota, please check your plan and billing details.';
    const retry = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' };
    const google = refused(429, [{ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details: [retry] } }]);
    expect(await failure(ask(google))).toMatchObject({ code: 'rate_limited', recoverable: true, retry_after_ms: 34_000 });
    const groq = refused(429, {
      error: { message: 'Rate limit reached. Please try again in 7.66s.', code: 'rate_limit_exceeded' },
    });
    expect(await failure(ask(groq))).toMatchObject({ code: 'rate_limited', retry_after_ms: 7_660 });
    const asking = refused(429, { error: { message: 'Rate limit reached, please wait and try again in 30 seconds' } });
    expect(await failure(ask(asking))).toMatchObject({ code: 'rate_limited', retry_after_ms: 30_000 });
  });

  it.each([
    [{ error: { code: 400, message: 'bad' } }, 'model_error', false],
    [{ error: { code: 429, message: 'slow down' } }, 'rate_limited', true],
    [{ error: { type: 'invalid_request_error', message: 'bad' } }, 'model_error', false],
    [{ error: { type: 'rate_limit_error', message: 'slow down' } }, 'rate_limited', true],
    [{ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, 'model_error', true],
  ])('judged by the status in its body within a stream: %j', async (body, code, recoverable) => {
    expect(await failure(ask({ body: HALF + frame(body) }))).toMatchObject({ code, recoverable });
  });

  it.each([
    ['llama.cpp', { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }],
    ['Hugging Face', { error: 'Model org/name is currently loading', estimated_time: 20 }],
  ])('waited for while the model loads: %s', async (_, body) => {
    const asked = server.requests.length;
    server.script(answer(refused(503, body)), answer({ body: WHOLE }));
    expect(await reply({ base_url: server.url })).toMatchObject({ text: 'whole answer' });
    expect(server.requests.length).toBe(asked + 2);
  });

  it.each([
    { error: { code: 503, message: 'Loading model' } },
    { error: { code: 425, message: 'Loading model' } },
    { error: 'Model org/name is currently loading' },
  ])('retried within a stream while the model loads, for which nobody waited: %j', async (body) => {
    const failed = await failure(ask({ body: frame(body) }));
    expect(failed).toMatchObject({ code: 'model_loading', recoverable: true });
    expect(failed.message).not.toContain('within a minute');
  });

  it('not unreachable if the connection breaks before the answer', async () => {
    server.script((response) => void response.destroy());
    expect(await failure(reply({ base_url: server.url }))).toMatchObject({ code: 'model_stream_cut', recoverable: true });
  });
});

describe('usage is counted', () => {
  const counts = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  const plain = { total_in: 100, total_out: 10, cache_read: 0, cache_write: 0 };
  const at = (more: object) => ({ body: HALF + chunk({}, 'stop', more) + DONE });
  const inUsage = (usage: object) => at({ usage });
  it.each<[string, Body, object]>([
    ['in the choice (Moonshot)', stored('usage_in_choice'), plain],
    ['in x_groq', at({ x_groq: { id: 'r', usage: counts } }), plain],
    ['as input and output', inUsage({ input_tokens: 100, output_tokens: 10 }), plain],
    ['in camel case', inUsage({ inputTokens: 100, outputTokens: 10, totalTokens: 110 }), plain],
    ['of Ollama', at({ prompt_eval_count: 100, eval_count: 10 }), plain],
    [
      'of Gemini',
      at({ usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 4, thoughtsTokenCount: 6, totalTokenCount: 110 } }),
      plain,
    ],
    [
      'of Gemini without a total',
      at({ usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 4, thoughtsTokenCount: 6 } }),
      plain,
    ],
    ['of Cohere', inUsage({ tokens: { input_tokens: 100, output_tokens: 10 } }), plain],
    ['of llama.cpp', at({ timings: { prompt_n: 60, cache_n: 40, predicted_n: 10 } }), { ...plain, cache_read: 40 }],
    [
      'with reasoning that only the total has (xAI)',
      inUsage({
        prompt_tokens: 100,
        completion_tokens: 4,
        total_tokens: 110,
        completion_tokens_details: { reasoning_tokens: 6 },
      }),
      plain,
    ],
    ['with reasoning that is included', inUsage({ ...counts, completion_tokens_details: { reasoning_tokens: 6 } }), plain],
    ['cached, of OpenAI', inUsage({ ...counts, prompt_tokens_details: { cached_tokens: 60 } }), { ...plain, cache_read: 60 }],
    [
      'cached, of DeepSeek',
      inUsage({ ...counts, prompt_cache_hit_tokens: 60, prompt_cache_miss_tokens: 40 }),
      { ...plain, cache_read: 60 },
    ],
    ['cached, of Moonshot', inUsage({ ...counts, cached_tokens: 60 }), { ...plain, cache_read: 60 }],
    [
      'cached, of Anthropic',
      inUsage({ input_tokens: 30, cache_read_input_tokens: 60, cache_creation_input_tokens: 10, output_tokens: 10 }),
      { ...plain, cache_read: 60, cache_write: 10 },
    ],
    [
      'cached, in both spellings',
      inUsage({ ...counts, prompt_tokens_details: { cached_tokens: 60 }, cache_read_input_tokens: 60 }),
      { ...plain, cache_read: 60 },
    ],
    ['as text', inUsage({ prompt_tokens: '100', completion_tokens: '10' }), plain],
    [
      'with zeros after it',
      {
        body:
          HALF +
          chunk({}, 'stop', { usage: counts }) +
          frame({ choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } }) +
          DONE,
      },
      plain,
    ],
  ])('%s', async (_, body, expected) => {
    expect((await ask(body)).usage).toEqual(expected);
  });

  it.each([
    [100, { total_in: 99, total_out: 1, cache_read: 0, cache_write: 0 }],
    [1, { total_in: 0, total_out: 1, cache_read: 0, cache_write: 0 }],
  ])('with only a total of %d, which is divided by an estimate of the output', async (total_tokens, usage) => {
    expect(await ask(inUsage({ total_tokens }))).toMatchObject({ usage, estimated: true });
  });

  it('with only the reasoning, which is output', async () => {
    const { usage } = await ask(at({ usageMetadata: { thoughtsTokenCount: 6 } }));
    expect(usage).toMatchObject({ total_out: 6 });
  });

  it('with only a total, of which no more is cached than the input has', async () => {
    const { usage } = await ask(inUsage({ total_tokens: 100, prompt_tokens_details: { cached_tokens: 100 } }));
    expect(usage).toEqual({ total_in: 99, total_out: 1, cache_read: 99, cache_write: 0 });
  });
});

describe('thinking in the text', () => {
  it.each(['think_tag', 'think_close_only'])('%s is kept apart from the answer', async (name) => {
    const { text, reasoning } = await ask(stored(name));
    expect({ text, reasoning: reasoning?.slice(0, 10) }).toEqual({ text: '{"answer": 4}', reasoning: 'let me see' });
  });

  it('is not streamed, whatever the pieces', async () => {
    const pieces = ['<th', 'ink>a', ' b</', 'think>', '\n\n', 'so'].map((content) => chunk({ content })).join('');
    expect(await ask({ body: pieces + chunk({}, 'stop') })).toMatchObject({ text: 'so', streamed: 'so', reasoning: 'a b' });
  });

  it.each<[string, object]>([
    ['reasoning_content', { reasoning_content: 'hm' }],
    ['reasoning', { reasoning: 'hm' }],
    ['thinking', { thinking: 'hm' }],
    ['parts of the content', { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }],
  ])('in %s is kept, too', async (_, delta) => {
    const body = chunk(delta) + chunk({ content: 'so' }) + chunk({}, 'stop');
    expect(await ask({ body })).toMatchObject({ text: 'so', reasoning: 'hm', extra: null });
  });

  it('that never ends is the answer of a model that ended, and nothing at its limit', async () => {
    const body = chunk({ content: '<think>it is 4' });
    expect(await ask({ body: body + chunk({}, 'stop') })).toMatchObject({ text: 'it is 4', streamed: 'it is 4' });
    expect(await failure(ask({ body: body + chunk({}, 'length') }))).toMatchObject({ code: 'model_length' });
  });

  it('of the Messages API is kept, too', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'so' },
    ];
    const body = JSON.stringify({ type: 'message', model: 'scripted', content, stop_reason: 'end_turn', usage: {} });
    expect(await ask({ type: 'application/json', body }, 'messages')).toMatchObject({ text: 'so', reasoning: 'hm', extra: null });
  });

  it('goes back only to models that want it', async () => {
    const past = {
      ...{ step: 1, position: 0, role: 'assistant' as const, kind: 'reply' as const, content: 'so', call_id: null },
      tool_calls: [{ call_id: '1-1', name: 'look', arguments: '{}' }],
      extra: { thought: 'in text', reasoning_content: 'in its field', reasoning: 'for people' },
    };
    const sent = (model: string, base_url: string) => {
      const dialect = getDialect({ provider_type: 'openai_compatible', base_url }, model);
      return chatRequest(exchangeOf({ transcript: [past] }), model, dialect).messages.at(-1);
    };
    const plain = sent('deepseek-chat', 'https://api.deepseek.com');
    expect(plain).toMatchObject({ content: 'so', reasoning_content: 'in its field' });
    expect(sent('MiniMax-M2', 'https://api.minimax.io/v1')).toMatchObject({ content: '<think>\nin text\n</think>\n\nso' });
    for (const [model, url] of [
      ['magistral-medium-latest', 'https://api.mistral.ai/v1'],
      ['mistralai/magistral-small', 'http://vllm.test/v1'],
      ['qwen3', 'https://api.groq.com/openai/v1'],
      ['gpt-oss-120b', 'https://api.cerebras.ai/v1'],
      ['gemini-2.5-flash', 'https://generativelanguage.googleapis.com/v1beta/openai'],
    ])
      expect(sent(model!, url!), url).not.toHaveProperty('reasoning_content');
    for (const message of [plain, sent('MiniMax-M2', 'https://api.minimax.io/v1')]) {
      expect(message).not.toHaveProperty('thought');
      expect(message).not.toHaveProperty('reasoning');
    }
  });

  it.each([
    ['DeepSeek', 'deepseek-v4-pro', 'https://api.deepseek.com/v1', ' '],
    ['Moonshot', 'kimi-k2.6', 'https://api.moonshot.ai/v1', ' '],
    ['Moonshot in China', 'kimi-k2.6', 'https://api.moonshot.cn/v1', ' '],
    ['others', 'qwen3', 'https://dashscope.aliyuncs.com/compatible-mode/v1', undefined],
    ['a host with a similar name', 'deepseek-v4-pro', 'https://notdeepseek.com/v1', undefined],
  ])('goes back as a blank for calls without any, to %s', (_, model, base_url, blank) => {
    const past = (tool_calls: { call_id: string; name: string; arguments: string }[] | null) => ({
      ...{ step: 1, position: 0, role: 'assistant' as const, kind: 'reply' as const, content: 'so', call_id: null },
      ...{ tool_calls, extra: null },
    });
    const dialect = getDialect({ provider_type: 'openai_compatible', base_url }, model);
    const transcript = [past([{ call_id: '1-1', name: 'look', arguments: '{}' }]), past(null)];
    const sent = chatRequest(exchangeOf({ transcript }), model, dialect).messages.slice(-2) as { reasoning_content?: string }[];
    expect(sent.map(({ reasoning_content }) => reasoning_content)).toEqual([blank, undefined]);
  });
});
