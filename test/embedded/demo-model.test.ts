import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming, ChatCompletionTool } from 'openai/resources/chat/completions';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDemoModel } from '../../src/embedded/demo-model.ts';
import { rawRequest } from '../support/contract/raw-request.ts';

let server: Awaited<ReturnType<typeof startDemoModel>>;
let client: OpenAI;

beforeAll(async () => {
  server = await startDemoModel({ token_delay_ms: 0 });
  client = new OpenAI({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
});
afterAll(() => server.stop());

const tool = (name: string, properties: Record<string, unknown>, required = Object.keys(properties)): ChatCompletionTool => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties, required } },
});
const number = { type: 'number' };
const text = { type: 'string' };
const ADD = tool('add_numbers', { a: number, b: number });
const FIND = tool('find', { query: text, limit: { type: 'integer' } }, ['query']);

type Messages = ChatCompletionCreateParamsNonStreaming['messages'];

async function ask(prompt: string | Messages, more: Partial<ChatCompletionCreateParamsNonStreaming> = {}) {
  const messages: Messages = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt;
  const { choices } = await client.chat.completions.create({ model: 'perdura-demo', messages, ...more });
  return choices[0]!;
}

async function callsFor(prompt: string | Messages, ...tools: ChatCompletionTool[]) {
  const { message } = await ask(prompt, { tools });
  return (message.tool_calls ?? []).map(
    (call) => call.type === 'function' && [call.function.name, JSON.parse(call.function.arguments)],
  );
}

/** A conversation in which the tools have answered. */
const answered = (prompt: string, ...results: [name: string, content: string][]): Messages => [
  { role: 'user', content: prompt },
  {
    role: 'assistant',
    content: null,
    tool_calls: results.map(([name], index) => ({ id: `c${index}`, type: 'function', function: { name, arguments: '{}' } })),
  },
  ...results.map(([, content], index) => ({ role: 'tool' as const, tool_call_id: `c${index}`, content })),
];

describe('without tools', () => {
  it('introduces itself and repeats the beginning of the prompt', async () => {
    const { message, finish_reason } = await ask(`Tell me ${'x'.repeat(300)}`);
    expect(message.content).toContain('demo model');
    expect(message.content).toContain(`Tell me ${'x'.repeat(192)}…`);
    expect(finish_reason).toBe('stop');
  });

  it('streams the same text word by word, with the usage at the end', async () => {
    const messages: Messages = [{ role: 'user', content: 'Hello' }];
    const stream = await client.chat.completions.create({
      ...{ model: 'any-name', messages, stream: true, stream_options: { include_usage: true } },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.content || []);
    expect(deltas.join('')).toBe((await ask('Hello')).message.content);
    expect(deltas.length).toBeGreaterThan(10);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: deltas.length } });
    expect(chunks[0]?.model).toBe('any-name');
  });

  it('answers in JSON if the format or the prompt asks for it', async () => {
    const replies = await Promise.all([
      ask('Hi', { response_format: { type: 'json_object' } }),
      ask([
        { role: 'system', content: 'Answer with JSON.' },
        { role: 'user', content: 'Hi' },
      ]),
    ]);
    for (const { message } of replies)
      expect(JSON.parse(message.content ?? '')).toEqual({ answer: expect.stringContaining('Hi') });
    expect((await ask('What is in data.json?')).message.content).not.toMatch(/^{/);
  });

  it('fills a JSON schema', async () => {
    const schema = { type: 'object', properties: { city: text, ok: { type: 'boolean' } }, required: ['city', 'ok'] };
    const { message } = await ask('About "Oslo"', {
      response_format: { type: 'json_schema', json_schema: { name: 'it', schema } },
    });
    expect(JSON.parse(message.content ?? '')).toEqual({ city: 'Oslo', ok: true });
  });

  it('stops at the token limit', async () => {
    expect(await ask('Hi', { max_tokens: 3 })).toMatchObject({
      finish_reason: 'length',
      message: { content: "This is Perdura's " },
    });
  });
});

describe('with tools', () => {
  it('calls the tool that the prompt names, with the numbers it finds there', async () => {
    expect(await callsFor('Please add numbers: 2 and 3.5', ADD, FIND)).toEqual([['add_numbers', { a: 2, b: 3.5 }]]);
  });

  it('calls several tools at once in the order of the prompt, each with the numbers that the previous one left', async () => {
    const calls = await callsFor("find 'red shoes', then addNumbers 4 and -5", ADD, FIND);
    expect(calls).toEqual([
      ['find', { query: 'red shoes', limit: 4 }],
      ['add_numbers', { a: -5, b: 1 }],
    ]);
  });

  it('fills arguments that are missing in the prompt with sensible defaults', async () => {
    const properties = {
      unit: { enum: ['celsius', 'fahrenheit'] },
      days: { type: 'integer', minimum: 7 },
      deep: { anyOf: [{ type: 'null' }, { type: 'array', items: text }] },
      note: { type: ['string', 'null'], default: 'none' },
      where: { type: 'object', properties: { city: text }, required: ['city'] },
    };
    const [call] = await callsFor('Run weather', tool('weather', properties));
    expect(call).toEqual(['weather', { unit: 'celsius', days: 7, deep: [], note: 'none', where: { city: 'Run weather' } }]);
  });

  it('does not mistake read_file or ready for read', async () => {
    expect(await callsFor('Use read file when ready', tool('read', {}), tool('read_file', {}))).toEqual([['read_file', {}]]);
  });

  it('calls no tool that is not named, and lists the tools it could call', async () => {
    const { message } = await ask('Good morning', { tools: [ADD, FIND] });
    expect(message.tool_calls).toBeUndefined();
    expect(message.content).toContain('add_numbers, find');
  });

  it('respects the tool choice of the request', async () => {
    expect((await ask('find it', { tools: [FIND], tool_choice: 'none' })).message.tool_calls).toBeUndefined();
    const forced = await ask('Hi', { tools: [ADD, FIND], tool_choice: { type: 'function', function: { name: 'find' } } });
    expect(forced.message.tool_calls).toMatchObject([{ function: { name: 'find' } }]);
  });

  it('calls what a request forces, also after results', async () => {
    const messages = answered('find it', ['find', '1']);
    for (const tool_choice of ['required', { type: 'function', function: { name: 'find' } }] as const)
      expect((await ask(messages, { tools: [FIND], tool_choice })).message.tool_calls).toMatchObject([
        { function: { name: 'find' } },
      ]);
  });

  it('quotes the results of the tools and stops calling', async () => {
    const { message, finish_reason } = await ask(answered('find and add numbers', ['find', '{"n": 1}'], ['add_numbers', '5']), {
      tools: [ADD, FIND],
    });
    expect(message.content).toMatch(/find answered: {"n": 1}.*add_numbers answered: 5.*demo model/s);
    expect(finish_reason).toBe('stop');
  });

  it('names no tool for a result that belongs to no call, and reads what has no text', async () => {
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'find it' }, { type: 'image_url' }] },
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'custom' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'of no function' },
      { role: 'tool', content: 'of nobody' },
      { role: 'tool', tool_call_id: 'c2' },
    ] as unknown as Messages;
    const { content } = (await ask(messages, { tools: [FIND] })).message;
    expect(content?.split('\n\n').slice(0, 3)).toEqual([
      'The tool unnamed answered: of no function',
      'The tool unnamed answered: of nobody',
      'The tool unnamed answered: ',
    ]);
    expect((await ask([{ role: 'system', content: 'Be kind.' }])).message.content).toMatch(/The prompt was: $/);
  });

  it('ignores a goal reminder, but answers a new prompt', async () => {
    const before = answered('find it', ['find', 'found']);
    expect(await callsFor([...before, { role: 'user', content: 'Remember the goal: "find it"' }], FIND)).toEqual([]);
    expect(await callsFor([...before, { role: 'user', content: 'find more' }], FIND)).toHaveLength(1);
  });

  it('streams tool calls in pieces that the client reassembles', async () => {
    const messages: Messages = [{ role: 'user', content: 'find "a rather long question, longer than a piece"' }];
    const { choices } = await client.chat.completions.stream({ model: 'm', messages, tools: [FIND] }).finalChatCompletion();
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    const [call] = choices[0]?.message.tool_calls ?? [];
    expect(call).toMatchObject({
      function: { name: 'find', arguments: '{"query":"a rather long question, longer than a piece"}' },
    });
  });
});

describe('with a scenario in the prompt', () => {
  it('calls the tool in every turn but the last, then answers with the given number of tokens', async () => {
    const prompt = '[[turns=3;tokens=4;tool=lookup]]';
    const lookup = tool('lookup', { q: text });
    expect(await callsFor(prompt, lookup)).toEqual([['lookup', { q: 'q1' }]]);
    expect(await callsFor(answered(prompt, ['lookup', 'one']), lookup)).toEqual([['lookup', { q: 'q2' }]]);
    const { message } = await ask(answered(prompt, ['lookup', 'one'], ['lookup', 'two']), { tools: [lookup] });
    expect(message.content).toBe('tok0 tok1 tok2 tok3');
  });

  it('answers if it may not call tools, regardless of the scenario', async () => {
    expect((await ask('[[turns=3;tokens=2]]')).message.content).toBe('tok0 tok1');
  });

  it('fails as many times as the scenario requests, then works', async () => {
    const prompt = '[[status=429;failn=2;key=fails;tokens=1]]';
    for (let times = 0; times < 2; times += 1) await expect(ask(prompt)).rejects.toMatchObject({ status: 429 });
    expect((await ask(prompt)).message.content).toBe('tok0');
  });

  it.each([
    ['[[turns=2;tool=pay;toolms=7;pad=3]] Pay "Bo".', { to: 'Bo', ms: 7, pad: 'xxx' }],
    ['[[turns=2;tool=pay]] Pay "Bo".', { to: 'Bo' }],
    ['[[turns=2;tool=lookup;toolms=none]] Pay "Bo".', { q: 'q1' }],
  ])('gives the tool what it takes: %s', async (prompt, given) => {
    const tools = [tool('pay', { to: text }), tool('lookup', { q: text })];
    expect((await callsFor(prompt, ...tools)).map((call) => (call || [])[1])).toEqual([given]);
  });

  it.each([
    ['before the first token', '[[ttft_ms=60000;tokens=2]]', 0],
    ['between two tokens', '[[itl_ms=60000;tokens=2]]', 1],
  ])('ends an answer whose reader leaves %s', async (_, content, chunks) => {
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content }] });
    const { body: stream } = await fetch(`${server.url}/chat/completions`, { method: 'POST', body, signal: leaving.signal });
    const reader = stream!.getReader();
    for (let read = 0; read < chunks; read += 1) expect((await reader.read()).done).toBe(false);
    leaving.abort();
    await expect(reader.read()).rejects.toThrow();
    expect((await ask('[[tokens=1]]')).message.content).toBe('tok0');
  });

  it('breaks off the first answer if the scenario requests it', async () => {
    const content = '[[cut=1;key=cut;tokens=6]]';
    const read = () => client.chat.completions.stream({ model: 'm', messages: [{ role: 'user', content }] }).finalContent();
    await expect(read()).rejects.toThrow();
    expect(await read()).toBe('tok0 tok1 tok2 tok3 tok4 tok5');
  });
});

describe('apart from chat', () => {
  it('lists itself under a name that promises no intelligence', async () => {
    const { data } = await client.models.list();
    expect(data).toMatchObject([{ id: 'perdura-demo', name: expect.stringContaining('no intelligence') }]);
    expect(await client.models.retrieve('perdura-demo')).toEqual(data[0]);
  });

  it('embeds texts deterministically, so that texts with shared words are close', async () => {
    const input = ['the red fox', 'a red fox ran', 'stock market news'];
    const { data } = await client.embeddings.create({ model: 'perdura-demo', input });
    const [a, b, c] = data.map((it) => it.embedding) as [number[], number[], number[]];
    const near = (x: number[], y: number[]) => x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
    expect(a).toHaveLength(256);
    expect(near(a, b)).toBeGreaterThan(near(a, c) + 0.3);
    const again = await client.embeddings.create({ model: 'perdura-demo', input: input[0]!, encoding_format: 'float' });
    expect(again.data[0]?.embedding).toEqual(a.map((value) => expect.closeTo(value, 6)));
  });

  it('gives a text without words a vector of zeros', async () => {
    const { data } = await client.embeddings.create({ model: 'perdura-demo', input: '…', encoding_format: 'float' });
    expect(data[0]?.embedding).toEqual(Array(256).fill(0));
  });

  it.each([
    ['what the scenario asks for', '[[status=503;failn=1;key=of-type]]', {}, 503, 'server_error', 'status 503'],
    [
      'a schema that never ends',
      'Run it',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
      500,
      'server_error',
      'failed',
    ],
  ])('reports %s', async (_, prompt, parameters, status, type, message) => {
    const tools = [{ type: 'function' as const, function: { name: 'it', parameters } }];
    await expect(ask(prompt, { tools })).rejects.toMatchObject({ status, type, message: expect.stringContaining(message) });
  });

  it('refuses an invalid request as OpenAI does', async () => {
    const post = (body: string) => fetch(`${server.url}/chat/completions`, { method: 'POST', body });
    for (const body of ['{', '{"model":"m"}', '{"model":"m","messages":[{"role":"nobody"}]}']) {
      const reply = await post(body);
      expect(reply.status).toBe(400);
      expect(await reply.json()).toMatchObject({ error: { type: 'invalid_request_error', message: expect.any(String) } });
    }
    expect((await fetch(`${server.url}/nothing`)).status).toBe(404);
  });
});

it('refuses a foreign host name and pages of other sites', async () => {
  const asked = async (headers: Record<string, string>) => (await rawRequest(`${server.url}/models`, { headers })).status;
  expect(await asked({ host: 'rebound.example' })).toBe(421);
  expect([await asked({ origin: 'http://elsewhere.example' }), await asked({ origin: 'null' })]).toEqual([403, 403]);
  expect([await asked({}), await asked({ host: 'localhost:1', origin: 'http://localhost:8080' })]).toEqual([200, 200]);
});
