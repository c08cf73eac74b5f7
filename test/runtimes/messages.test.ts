import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messagesRequest } from '../../src/runtimes/messages-request.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { messageAnswer } from '../support/peers/compatible-vendor.ts';
import { type Answer, fails, type ModelServer, sends, startModelServer } from '../support/peers/model-server.ts';
import { exchangeOf, failure, message, reply } from './support.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const ask = (answer: Answer) => {
  server.script(answer);
  const base_url = server.url.replace('/v1', '');
  return reply({ provider_type: 'anthropic_messages', base_url, api_key_token_name: 'key' });
};
const streamed = (events: object[]) =>
  events.map((event) => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');
const HELLO = messageAnswer([{ type: 'text', text: 'Hello you there' }]).events;
const as =
  (type: string, body: string): Answer =>
  (response) =>
    void response.writeHead(200, { 'content-type': type }).end(body);

describe('a request of the Messages API', () => {
  async function ask(call_settings: Exchange['call_settings']) {
    server.script(sends(streamed(HELLO)));
    const base_url = server.url.replace('/v1', '');
    const provider = { provider_type: 'anthropic_messages', base_url, api_key_token_name: 'key' } as const;
    await reply(provider, { ...(call_settings && { call_settings }) });
    return server.headers.at(-1)!;
  }

  it.each([{ temperature: 0.5 }, { top_p: 0.5 }])('with %j has the version that takes it', async (call_settings) => {
    expect((await ask(call_settings))['anthropic-version']).toBe('2023-06-01');
    expect((await ask({ max_output_tokens: 9 }))['anthropic-version']).not.toBe('2023-06-01');
  });

  it('has the key in both headers that endpoints read', async () => {
    expect(await ask(undefined)).toMatchObject({ authorization: 'Bearer value of key', 'x-api-key': 'value of key' });
  });
});

describe('the turns of a request of the Messages API', () => {
  const tool = (name: string) => ({ name, description: '', parameters: { type: 'object' }, effect: 'read' as const });
  const choiceOf = (values: Partial<Exchange>) => messagesRequest(exchangeOf(values), 'claude').tool_choice;

  it('force the one tool that must be called, or one of several', () => {
    const call_settings = { parallel_tool_calls: false };
    expect(choiceOf({ tools: [tool('look')], must_call: true })).toEqual({ type: 'tool', name: 'look' });
    expect(choiceOf({ tools: [tool('look'), tool('see')], must_call: true, call_settings })).toEqual({
      ...{ type: 'any', disable_parallel_tool_use: true },
    });
    expect(choiceOf({ tools: [tool('look')] })).toBeUndefined();
  });

  it('leave out what the vendor would refuse', () => {
    const unsigned = { blocks: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }] };
    const orphan = { blocks: [{ type: 'web_search_tool_result', tool_use_id: 'gone', content: [] }] };
    const transcript = [
      message({ content: 'Go.' }),
      message({ role: 'assistant', kind: 'reply', content: '' }),
      message({ role: 'assistant', kind: 'reply', content: 'Thought.', extra: unsigned }),
      message({ role: 'assistant', kind: 'reply', content: 'Searched.', extra: orphan }),
      message({ role: 'tool', kind: 'result', content: 'seen', call_id: '9-1' }),
      message({ content: 'And?' }),
    ];
    const { messages } = messagesRequest(exchangeOf({ transcript }), 'claude');
    expect(messages.map(({ role, content }) => [role, content])).toMatchObject([
      ['user', [{ type: 'text', text: 'Go.' }]],
      [
        'assistant',
        [
          { type: 'text', text: 'Thought.' },
          { type: 'text', text: 'Searched.' },
        ],
      ],
      ['user', [{ type: 'text', text: 'And?' }]],
    ]);
  });
});

describe('an answer of the Messages API', () => {
  it('is streamed, with what it cost', async () => {
    const { text, streamed: shown, finish, model, usage } = await ask(sends(streamed(HELLO)));
    expect({ text, shown, finish, model }).toEqual({
      text: 'Hello you there',
      shown: 'Hello you there',
      finish: 'stop',
      model: 'answered',
    });
    expect(usage).toEqual({ total_in: 9, total_out: 4, cache_read: 0, cache_write: 0 });
  });

  it('that breaks off is asked for again, and what it cost is known', async () => {
    for (const cut of [true, false]) {
      const { code, recoverable, answer } = await failure(ask(sends(streamed(HELLO.slice(0, 3)), { cut })));
      expect({ cut, code, recoverable }).toEqual({ cut, code: 'model_stream_cut', recoverable: true });
      expect(answer).toMatchObject({ model: 'answered', usage: { total_in: 9, total_out: 3 }, estimated: true });
    }
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'refusal'],
    ['tool_use', 'tool_calls'],
    ['something new', 'something new'],
  ])('that stops with %s counts as %s', async (stop, finish) => {
    const { events } = messageAnswer([{ type: 'text', text: 'So far.' }], { stop });
    expect(await ask(sends(streamed(events)))).toMatchObject({ text: 'So far.', finish });
  });

  it.each(['max_tokens', 'model_context_window_exceeded'])(
    'that stops with %s before it says anything is a failure of its length',
    async (stop) => {
      const { events } = messageAnswer([], { stop });
      expect(await failure(ask(sends(streamed(events))))).toMatchObject({ code: 'model_length' });
    },
  );

  it('keeps calls whose arguments are not JSON as the model wrote them', async () => {
    const { events } = messageAnswer([{ type: 'tool_use', id: 'a', name: 'look', input: { at: 'home' } }], {
      stop: 'max_tokens',
    });
    const { calls, finish } = await ask(sends(streamed(events.filter((_, index) => index !== 3))));
    expect({ calls, finish }).toEqual({ calls: [{ id: 'a', name: 'look', arguments: '{"at":' }], finish: 'length' });
  });

  it('does not make a call that lost all its arguments at the output limit one without arguments', async () => {
    const { events } = messageAnswer([{ type: 'tool_use', id: 'a', name: 'look', input: {} }], { stop: 'max_tokens' });
    const { calls } = await ask(sends(streamed(events.filter(({ type }: { type?: string }) => type !== 'content_block_delta'))));
    expect(calls).toEqual([{ id: 'a', name: 'look', arguments: '{' }]);
    const whole = messageAnswer([{ type: 'tool_use', id: 'a', name: 'look', input: {} }], { stop: 'tool_use' });
    expect((await ask(sends(streamed(whole.events)))).calls[0]?.arguments).toBe('{}');
  });

  it('is broken off if it has too many blocks or calls', async () => {
    const many = (type: string) =>
      streamed(Array.from({ length: 2_000 }, (_, index) => ({ type: 'content_block_start', index, content_block: { type } })));
    expect(await failure(ask(sends(many('text'))))).toMatchObject({ code: 'model_answer_too_large', recoverable: false });
    expect(await failure(ask(sends(many('tool_use'))))).toMatchObject({ code: 'tool_calls_too_many', recoverable: false });
  });

  it('may come whole', async () => {
    const content = [
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'a', name: 'look', input: { at: 1 } },
    ];
    const whole = {
      type: 'message',
      model: 'answered',
      content,
      stop_reason: 'tool_use',
      usage: { input_tokens: 5, output_tokens: 2 },
    };
    const { text, streamed: shown, calls, finish, usage } = await ask(as('application/json', JSON.stringify(whole)));
    expect({ text, shown, finish }).toEqual({ text: 'Let me look.', shown: 'Let me look.', finish: 'tool_calls' });
    expect(calls).toEqual([{ id: 'a', name: 'look', arguments: '{"at":1}' }]);
    expect(usage).toMatchObject({ total_in: 5, total_out: 2 });
  });

  it('keeps an identifier that a double cannot hold, also where it is repeated to the model', async () => {
    const call = '{"type":"tool_use","id":"a","name":"look","input":{"id":1234567890123456789}}';
    const body = `{"type":"message","model":"answered","content":[${call}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}`;
    const { calls } = await ask(as('application/json', body));
    expect(calls[0]?.arguments).toBe('{"id":1234567890123456789}');
    const asked = { call_id: 'a', name: 'look', arguments: '{"id": 1234567890123456789}' };
    const transcript = [message({ role: 'assistant', kind: 'reply', tool_calls: [asked] })];
    expect(JSON.stringify(messagesRequest(exchangeOf({ transcript }), 'any').messages)).toContain('{"id":1234567890123456789}');
  });

  it.each([
    ['a web page', as('text/html', '<html>Sign in</html>'), { code: 'model_sent_html', recoverable: false }],
    ['nothing', as('text/event-stream', ''), { code: 'model_stream_cut', recoverable: true }],
    ['another kind of JSON', as('application/json', '{"ok": true}'), { code: 'bad_model_response', recoverable: false }],
    ['a line that is no JSON', sends('data: {"type":\n\n'), { code: 'bad_model_response', recoverable: true }],
    [
      'an error',
      sends(streamed([...HELLO.slice(0, 3), { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }])),
      { code: 'model_error', recoverable: true, message: "The model's endpoint answered: Overloaded" },
    ],
    ['a refusal', fails(529, { message: 'Overloaded' }), { code: 'model_error', recoverable: true }],
  ] as const)('that is %s is a failure in words', async (_, answer, expected) => {
    expect(await failure(ask(answer))).toMatchObject(expected);
  });
});
