import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { calculateCost } from '../../src/domain/usage.ts';
import { selectRuntime } from '../../src/runtimes/select.ts';
import { asks, breaksOff, fails, hangs, type ModelServer, says, sends, startModelServer } from '../support/peers/model-server.ts';
import { caller, chunks, DIRECT, exchangeOf, failure, message, providerOf, reply } from './support.ts';

let server: ModelServer;
const OPTIONS = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, ...DIRECT };
const at = (values: object = {}) => ({ base_url: server.url, ...values });

beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

describe('a streamed reply', () => {
  it('arrives as text, word by word, with the usage of the exchange', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
    };
    server.script(says('Hello you there', { usage }));
    const { text, streamed, usage: spent, finish } = await reply(at());
    expect({ text, streamed, finish }).toEqual({ text: 'Hello you there', streamed: 'Hello you there', finish: 'stop' });
    expect(spent).toEqual({ total_in: 100, total_out: 7, cache_read: 60, cache_write: 10 });
  });

  it('reassembles several calls that arrive interleaved in pieces', async () => {
    server.script(asks({ name: 'first', args: { a: 'x'.repeat(40) } }, { name: 'second', args: { b: 2 } }));
    const { calls } = await reply(at());
    expect(calls.map(({ name, arguments: args }) => [name, JSON.parse(args)])).toEqual([
      ['first', { a: 'x'.repeat(40) }],
      ['second', { b: 2 }],
    ]);
  });

  it('separates calls that share an index or an id, or have no index', async () => {
    const call = (more: object, name: string) => ({ tool_calls: [{ ...more, function: { name, arguments: '{}' } }] });
    server.script(chunks([call({ index: 0, id: 'a' }, 'one'), call({ index: 0, id: 'b' }, 'two')], { finish: 'tool_calls' }));
    expect((await reply(at())).calls.map(({ name }) => name)).toEqual(['one', 'two']);
    server.script(
      chunks([call({ index: 0, id: 'a' }, 'one'), call({ index: 1_000_000_000, id: 'a' }, 'two')], { finish: 'tool_calls' }),
    );
    expect((await reply(at())).calls.map(({ name }) => name)).toEqual(['one', 'two']);
    server.script(
      chunks([{ tool_calls: [{ id: 'a', function: { name: 'one', arguments: { deep: 1 } } }] }], { finish: 'tool_calls' }),
    );
    expect((await reply(at())).calls).toEqual([{ id: 'a', name: 'one', arguments: '{"deep":1}' }]);
  });

  it('does not make a call that lost all its arguments at the output limit one without arguments', async () => {
    const argumentsAt = async (finish: string, sent: unknown) => {
      const called = ['{"at":1}', sent].map((args, index) => ({
        index,
        id: `${index}`,
        function: { name: 'look', arguments: args },
      }));
      server.script(chunks([{ tool_calls: called }], { finish }));
      return (await reply(at())).calls.map(({ arguments: args }) => args);
    };
    for (const sent of ['', '{}', {}, ' null'] as const) expect(await argumentsAt('length', sent)).toEqual(['{"at":1}', '{']);
    expect(await argumentsAt('tool_calls', '')).toEqual(['{"at":1}', '']);
    expect(await argumentsAt('tool_calls', '{}')).toEqual(['{"at":1}', '{}']);
  });

  it('keeps reasoning for the next exchange but not in the answer', async () => {
    const called = { tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{}' } }] };
    server.script(chunks([{ reasoning_content: 'Let me ' }, { reasoning_content: 'look.' }, called], { finish: 'tool_calls' }));
    const { text, extra } = await reply(at());
    expect({ text, extra }).toEqual({ text: '', extra: { reasoning_content: 'Let me look.' } });

    server.script(says('ok'));
    const tool_calls = [{ call_id: '1-1', name: 'look', arguments: '{}' }];
    await reply(at(), { transcript: [message({ role: 'assistant', kind: 'reply', tool_calls, extra })] });
    expect(server.requests.at(-1)?.messages.at(-1)).toMatchObject({ reasoning_content: 'Let me look.' });
  });

  it('returns a refusal as the answer and marks it', async () => {
    server.script(chunks([{ refusal: 'I cannot ' }, { refusal: 'do that.' }]));
    expect(await reply(at())).toMatchObject({ text: 'I cannot do that.', finish: 'refusal' });
  });

  it('keeps a text that was truncated at the output limit', async () => {
    server.script(says('A long st', { finish: 'length' }));
    expect(await reply(at())).toMatchObject({ text: 'A long st', finish: 'length' });
  });

  it('is asked for without a schema by an endpoint that knows none', async () => {
    const output_schema = { type: 'object', properties: { a: {} } };
    const asked = server.requests.length;
    server.script(fails(400, { message: 'This response_format type is unavailable now' }), says('{}'));
    expect(await reply(at(), { output_schema })).toMatchObject({ text: '{}' });
    const formats = server.requests.slice(asked).map(({ response_format }) => response_format);
    expect(formats).toEqual([{ type: 'json_schema', json_schema: { name: 'answer', schema: output_schema } }, undefined]);
    server.script(fails(400, { message: 'Something else is wrong' }));
    expect(await failure(reply(at(), { output_schema }))).toMatchObject({ code: 'model_error' });
  });

  it('reads an endpoint that does not stream', async () => {
    server.script((response) => {
      const called = { id: 'x', type: 'function', function: { name: 'look', arguments: '{"a":1}' } };
      const choices = [
        { index: 0, message: { role: 'assistant', content: 'Whole.', tool_calls: [called] }, finish_reason: 'tool_calls' },
      ];
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ id: 'c', model: 'scripted', choices, usage: { prompt_tokens: 3, completion_tokens: 1 } }));
    });
    expect(await reply(at())).toMatchObject({
      ...{ text: 'Whole.', streamed: 'Whole.', usage: { total_in: 3, total_out: 1 } },
      calls: [{ id: 'x', name: 'look', arguments: '{"a":1}' }],
    });
  });

  it('ignores usage that is not a valid count, and estimates it', async () => {
    server.script(
      says('ok', { usage: { prompt_tokens: -5, completion_tokens: 'many', prompt_tokens_details: { cached_tokens: 1e300 } } }),
    );
    expect(await reply(at())).toMatchObject({
      usage: { total_in: 8, total_out: 1, cache_read: 0, cache_write: 0 },
      estimated: true,
    });
  });
});

describe('a request', () => {
  it('sends invalid arguments of the model back in a form that endpoints accept', async () => {
    server.script(says('ok'));
    const tool_calls = [
      { call_id: '1-1', name: '', arguments: '{"broken' },
      { call_id: '1-2', name: 'look', arguments: '' },
    ];
    await reply(at(), { transcript: [message({ role: 'assistant', kind: 'reply', tool_calls })] });
    expect(
      server.requests
        .at(-1)
        ?.messages.at(-1)
        ?.tool_calls?.map((call) => call.function),
    ).toEqual([
      { name: 'unnamed', arguments: '{"not_valid_json":"{\\"broken"}' },
      { name: 'look', arguments: '{}' },
    ]);
  });

  it.each([
    ['bearer', 'authorization', 'Bearer value of my-key'],
    ['x-api-key', 'x-api-key', 'value of my-key'],
  ])('carries the key as %s', async (auth_type, header, value) => {
    const seen = await headersOf((base_url) => reply({ base_url, auth_type, api_key_token_name: 'my-key' }));
    expect(seen.headers[header]).toBe(value);
    if (header !== 'authorization') expect(seen.headers.authorization).toBeUndefined();
  });

  it('reaches an Azure deployment by its path, version and key', async () => {
    const azure = {
      provider_type: 'azure_openai',
      azure_deployment: 'gpt-prod',
      azure_api_version: '2025-01-01',
      default_model: null,
    };
    const seen = await headersOf((base_url) => reply({ ...azure, base_url, api_key_token_name: 'azure-key' }));
    expect(seen.url).toBe('/openai/deployments/gpt-prod/chat/completions?api-version=2025-01-01');
    expect(seen.headers).toMatchObject({ 'api-key': 'value of azure-key' });
  });

  it.each([
    ['', '/openai/deployments/gpt/chat/completions?api-version=2024-10-21'],
    ['/', '/openai/deployments/gpt/chat/completions?api-version=2024-10-21'],
    ['/openai', '/openai/deployments/gpt/chat/completions?api-version=2024-10-21'],
    ['/openai/v1/', '/openai/v1/chat/completions'],
  ])('reaches a model of Azure without a deployment at %j', async (path, url) => {
    const azure = {
      provider_type: 'azure_openai',
      azure_deployment: null,
      api_key_token_name: 'k',
      default_model: 'gpt',
    } as const;
    const seen = await headersOf((base_url) => reply({ ...azure, base_url: base_url + path }));
    expect(seen.url).toBe(url);
    expect(seen.headers).toMatchObject({ 'api-key': 'value of k' });
    expect(seen.headers.authorization).toBeUndefined();
  });

  it('forces a call if one must be made', async () => {
    server.script(says('ok'), says('ok'));
    const tools = [{ name: 'look', description: 'Looks.', parameters: { type: 'object' }, effect: 'read' as const }];
    for (const must_call of [true, false]) await reply(at(), { tools, must_call });
    expect(server.requests.slice(-2).map(({ tool_choice }) => tool_choice)).toEqual(['required', undefined]);
  });

  it('reaches an anthropic provider with a base_url as chat completions', async () => {
    const seen = await headersOf((base_url) =>
      reply({ base_url: `${base_url}/v1`, provider_type: 'anthropic', api_key_token_name: 'k' }),
    );
    expect(seen.url).toBe('/v1/chat/completions');
  });
});

const CHARGED = { usage: { prompt_tokens: 7, completion_tokens: 3 } };

describe('a failure states the cause and whether to retry', () => {
  it.each([
    ['a stream cut in the middle', () => breaksOff('Half'), 'model_stream_cut', true],
    [
      'a stream that ends without a finish',
      () => sends('data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'),
      'model_stream_cut',
      true,
    ],
    ['a stream of something else', () => sends('data: {"choices":[{\n\n'), 'bad_model_response', true],
    ['an empty answer', () => says(''), 'empty_answer', false],
    ['no content', () => (response: ServerResponse) => void response.writeHead(204).end(), 'empty_answer', false],
    [
      'no choices',
      () => (response: ServerResponse) => void response.writeHead(200).end('{"id":"c","choices":[]}'),
      'bad_model_response',
      false,
    ],
    [
      'an answer of nothing but thought',
      () => chunks([{ reasoning_content: 'hm' }], { finish: 'length' }),
      'model_length',
      false,
    ],
    ['a filtered answer', () => says('bad', { finish: 'content_filter' }), 'content_filter', false],
    ['a revoked key', () => fails(401), 'model_unauthorized', false],
    ['an unknown model', () => fails(404), 'unknown_model', false],
    ['a bad request', () => fails(400), 'model_error', false],
    ['an overloaded endpoint', () => fails(529), 'model_error', true],
    ['a request that took too long', () => fails(408), 'model_error', true],
    ['a conflict', () => fails(409), 'model_error', true],
    ['an error inside a stream', () => sends('data: {"error":{"message":"overloaded"}}\n\n'), 'model_error', true],
    [
      'calls without end',
      () =>
        chunks(Array.from({ length: 300 }, (_, index) => ({ tool_calls: [{ index, id: `${index}`, function: { name: 'x' } }] }))),
      'tool_calls_too_many',
      false,
    ],
  ] as const)('%s', async (_, answer, code, recoverable) => {
    server.script(answer());
    expect(await failure(reply(at()))).toMatchObject({ code, recoverable });
  });

  it.each([
    ['an empty answer', () => says('', CHARGED)],
    ['a filtered answer', () => says('bad', { ...CHARGED, finish: 'content_filter' })],
    [
      'an answer that broke off',
      () => sends(`data: ${JSON.stringify({ model: 'scripted', choices: [{ delta: { content: 'bad' } }], ...CHARGED })}\n\n`),
    ],
    ['an answer of nothing but thought', () => says('', { ...CHARGED, finish: 'length' })],
  ])('%s, with what it costs', async (_, answer) => {
    server.script(answer());
    const usage = { total_in: 7, total_out: 3, cache_read: 0, cache_write: 0 };
    expect((await failure(reply(at()))).answer).toEqual({ model: 'scripted', usage });
  });

  it('a rate limit, with the requested waiting time', async () => {
    server.script(fails(429, { message: 'slow down', headers: { 'retry-after': '7' } }));
    const error = await failure(reply(at()));
    expect(error).toMatchObject({ code: 'rate_limited', recoverable: true, retry_after_ms: 7_000 });
    expect(error.message).toContain('slow down');
  });

  it('an unreachable endpoint, with its address', async () => {
    const error = await failure(reply({ base_url: 'http://127.0.0.1:9/v1' }));
    expect(error).toMatchObject({ code: 'model_unreachable', recoverable: true });
  });

  it('a provider without a key, or an Azure one without an address', async () => {
    expect(await failure(reply({ provider_type: 'openai' }))).toMatchObject({ code: 'no_provider_key' });
    expect(await failure(reply({ provider_type: 'azure_openai', api_key_token_name: 'k' }))).toMatchObject({
      code: 'no_base_url',
    });
  });

  it.each(['openai_compatible', 'anthropic_messages', 'anthropic'])('no model for %s', async (provider_type) => {
    const base_url = provider_type === 'anthropic' ? null : server.url;
    const provider = providerOf({ provider_type, base_url, api_key_token_name: 'key', default_model: null });
    const { runtime } = await selectRuntime({ provider, tools: [] }, caller, OPTIONS);
    const asked = runtime.exchange(exchangeOf(), () => {}, new AbortController().signal);
    expect(await failure(asked)).toMatchObject({ code: 'no_model', recoverable: false });
  });

  it('a run without a token for the default runtime', async () => {
    const selected = selectRuntime({ provider: null }, { ...caller, access_token: null }, OPTIONS);
    expect(await failure(selected)).toMatchObject({
      code: 'no_access_token',
      message: expect.stringContaining('give the agent'),
    });
  });

  it('a key that cannot be read now, which is not the fault of the provider', async () => {
    const outage = new OutageError({ code: 'database_unavailable', sentence: 'Postgres is gone' });
    const provider = providerOf({ provider_type: 'openai', api_key_token_name: 'key' });
    const openToken = () => Promise.reject(outage);
    await expect(selectRuntime({ provider }, { ...caller, openToken }, OPTIONS)).rejects.toBe(outage);
  });

  it('a key that no header can carry, without quoting it', async () => {
    const error = await failure(reply(at({ api_key_token_name: 'torn\napart' })));
    expect(error).toMatchObject({ code: 'no_provider_key', recoverable: false });
    expect(error.message).toContain('has a line break within it');
    expect(error.message).not.toContain('value of torn');
  });

  it('an abort, which ends the request at the endpoint', async () => {
    server.script(hangs('Half'));
    const halt = new AbortController();
    const before = server.aborted();
    const asked = reply(at(), {}, halt.signal);
    setTimeout(() => halt.abort(new Error('halted')), 100);
    await expect(asked).rejects.toThrow('halted');
    await expect.poll(() => server.aborted()).toBe(before + 1);
  });
});

it('an invalid price table costs nothing instead of an invalid amount', () => {
  const spent = { total_in: 1_000, total_out: 1_000, cache_read: 0, cache_write: 0 };
  expect(calculateCost(spent, ['m'], { m: { input: Number.NaN, output: 1 } })).toBe(0);
  expect(calculateCost(spent, ['m'], { '*': { input: 1e308, output: 1e308 } })).toBe(0);
  expect(calculateCost(spent, ['m'], { '*': { input: -5, output: 1 } })).toBe(0);
});

/** The path and headers of one request that the endpoint received. */
async function headersOf(ask: (base_url: string) => Promise<unknown>) {
  let seen: { url: string | undefined; headers: Record<string, unknown> } = { url: '', headers: {} };
  const listener = createServer((request, response) => {
    seen = { url: request.url, headers: request.headers };
    void says('ok')(response, {} as never);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  await ask(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`);
  listener.closeAllConnections();
  listener.close();
  return seen;
}

describe('connections', () => {
  it('are reused even if [DONE] arrives before the end of the transfer', async () => {
    let connections = 0;
    let sent: Promise<unknown> = Promise.resolve();
    const slow = createServer((request, response) => {
      sent = once(response, 'finish');
      request.resume().on('end', () => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] })}\n\n`,
        );
        response.write('data: [DONE]\n\n');
        setTimeout(() => response.end(), 20);
      });
    });
    slow.on('connection', () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    try {
      const base_url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/v1`;
      for (let step = 0; step < 4; step += 1) {
        expect((await reply({ base_url })).text).toBe('Hi');
        await sent;
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
      expect(connections).toBe(1);
    } finally {
      slow.closeAllConnections();
      slow.close();
    }
  });
});
