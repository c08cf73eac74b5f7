import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectRuntime } from '../../src/runtimes/select.ts';
import { type ModelServer, startModelServer } from '../support/peers/model-server.ts';
import { caller, DIRECT, exchangeOf, failure, providerOf, reply } from './support.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server?.stop());

const TOKENS = 100;
const WORDS = 'four'.repeat(TOKENS);
/** The names and marks around the words may count, too. */
const MOST = TOKENS + 15;

const delta = (fields: object): object[] => [{ choices: [{ index: 0, delta: fields, finish_reason: null }] }];
const block = (content_block: object, piece: object): object[] => [
  { type: 'message_start', message: { model: 'm', usage: { input_tokens: 7, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block },
  { type: 'content_block_delta', index: 0, delta: piece },
];

const call = { index: 0, id: 'a', function: { name: 'look', arguments: `{"city":"${WORDS}` } };
const CHAT: [string, object[]][] = [
  ['reasoning_content', delta({ reasoning_content: WORDS })],
  ['reasoning', delta({ reasoning: WORDS })],
  ['thinking', delta({ thinking: WORDS })],
  ['reasoning next to its details', delta({ reasoning: WORDS, reasoning_details: [{ type: 'reasoning.text', text: WORDS }] })],
  ['details alone', delta({ reasoning_details: [{ type: 'reasoning.text', text: WORDS }] })],
  ['parts of Mistral', delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: WORDS }] }] })],
  ['thinking in the text', delta({ content: `<think>${WORDS}` })],
  ['a marked beginning in pieces', [...delta({ content: '<thi' }), ...delta({ content: 'nk>' }), ...delta({ content: WORDS })]],
  ['text that might have been a mark', [...delta({ content: '<thi' }), ...delta({ content: `s${WORDS}` })]],
  ['a call', delta({ tool_calls: [call] })],
  ['a call of the older form', delta({ function_call: call.function })],
];
const MESSAGES: [string, object[]][] = [
  ['thinking', block({ type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: WORDS })],
  ['redacted thinking', block({ type: 'redacted_thinking', data: WORDS }, { type: 'signature_delta', signature: '' })],
  ['a call', block({ type: 'tool_use', id: 'a', name: 'look', input: {} }, { type: 'input_json_delta', partial_json: WORDS })],
  ['text', block({ type: 'text', text: '' }, { type: 'text_delta', text: WORDS })],
];
const ALL = [
  ...CHAT.map(([kind, events]) => ({ kind, events, provider_type: 'openai_compatible' })),
  ...MESSAGES.map(([kind, events]) => ({ kind: `${kind} of the Messages API`, events, provider_type: 'anthropic_messages' })),
];
const LONG = ALL.filter(({ kind }) => kind.startsWith('thinking of') || kind === 'reasoning_content');

type Case = (typeof ALL)[number];
const toProvider = ({ provider_type }: Case) =>
  provider_type === 'anthropic_messages'
    ? { provider_type, base_url: server.url.replace('/v1', ''), api_key_token_name: 'key' }
    : { provider_type, base_url: server.url };

const script = ({ events }: Case, { ends }: { ends: boolean }) =>
  server.script((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    if (ends) response.end();
  });

function expectCounted(answer: { usage: { total_in: number; total_out: number }; estimated?: boolean } | undefined) {
  expect(answer?.estimated).toBe(true);
  expect(answer?.usage.total_in).toBeGreaterThan(0);
  expect(answer?.usage.total_out).toBeGreaterThanOrEqual(TOKENS);
  expect(answer?.usage.total_out).toBeLessThanOrEqual(MOST);
}

describe('what a model wrote before its stream was cut counts, as an estimate', () => {
  it.each(ALL)('if the stream broke off: $kind', async (it) => {
    script(it, { ends: true });
    expectCounted((await failure(reply(toProvider(it)))).answer);
  });

  it.each(LONG)('if it fell silent: $kind', async (it) => {
    script(it, { ends: false });
    const options = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, ...DIRECT };
    const deadlines = { total_ms: 60_000, silence_ms: 1_000 };
    const { runtime } = await selectRuntime({ provider: providerOf(toProvider(it)) }, caller, { ...options, deadlines });
    const failed = await failure(runtime.exchange(exchangeOf(), () => {}, new AbortController().signal));
    expect(failed.code).toBe('model_timeout');
    expectCounted(failed.answer);
  });

  it.each(ALL)('if the run is halted, as far as it was reported: $kind', async (it) => {
    script(it, { ends: false });
    const halt = new AbortController();
    let characters = 0;
    const count = (piece: string) => {
      characters += piece.length;
      if (characters >= WORDS.length) halt.abort(new Error('halted'));
    };
    const options = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, ...DIRECT };
    const { runtime } = await selectRuntime({ provider: providerOf(toProvider(it)) }, caller, options);
    await expect(runtime.exchange(exchangeOf({ reportHidden: count }), count, halt.signal)).rejects.toThrow('halted');
    expect(characters).toBeLessThanOrEqual(4 * MOST);
  });
});
