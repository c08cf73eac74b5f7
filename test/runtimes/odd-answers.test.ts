import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Model } from '../../src/contracts/models.ts';
import { AppError } from '../../src/domain/errors.ts';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { REPLY_CHARACTERS } from '../../src/domain/normalise.ts';
import { ANSWER_TOO_LARGE, OutsideRefused } from '../../src/domain/outside.ts';
import { redactor } from '../../src/domain/redaction.ts';
import { NO_EXCHANGE_USAGE } from '../../src/domain/usage.ts';
import { exchangeBounds } from '../../src/runtimes/bounded.ts';
import { collectReply } from '../../src/runtimes/chat-reply.ts';
import { toModelFailure } from '../../src/runtimes/failures.ts';
import { modelLister } from '../../src/runtimes/model-lists.ts';
import type { ModelReply } from '../../src/runtimes/runtime.ts';
import { changedAt, codeIn, ODD_VALUES, placesIn } from '../support/contract/odd-values.ts';
import {
  type CompatibleVendor,
  chatAnswer,
  messageAnswer,
  startCompatibleVendor,
  type VendorAnswer,
} from '../support/peers/compatible-vendor.ts';
import { exchangeOf, failure, reply } from './support.ts';

const called = { name: 'look', arguments: '{"at": 1}' };
const ANSWERS: [string, string, VendorAnswer][] = [
  [
    'chat completions',
    'openai_compatible',
    chatAnswer(
      [
        { role: 'assistant', content: 'Let me ' },
        { content: [{ type: 'text', text: 'look.' }], reasoning_details: [{ type: 'reasoning.text', text: 'Hm.', index: 0 }] },
        { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: called, extra_content: { signature: 's' } }] },
      ],
      { finish: 'tool_calls' },
    ),
  ],
  [
    'messages',
    'anthropic_messages',
    messageAnswer(
      [
        { type: 'thinking', thinking: 'Hm, well.', signature: 'signed' },
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 1 } },
      ],
      { stop: 'tool_use' },
    ),
  ],
  [
    'messages with a tool that the vendor runs',
    'anthropic_messages',
    messageAnswer(
      [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rain' } },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', title: 'Rain' }] },
        { type: 'text', text: 'Let me look.', citations: [{ type: 'web_search_result_location', cited_text: 'Rain.' }] },
        { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 1 } },
      ],
      { stop: 'tool_use' },
    ),
  ],
];

type Answered = ModelReply & { streamed: string };

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** What is wrong with a reply, by the types that the rest of the product relies on. */
function faultsOf({ text, calls, finish, model, usage, streamed }: Answered): string[] {
  return [
    ...(typeof text === 'string' && typeof finish === 'string' ? [] : ['text']),
    ...(text === streamed ? [] : [`streamed ${JSON.stringify(streamed)}, recorded ${JSON.stringify(text)}`]),
    ...(model === null || typeof model === 'string' ? [] : ['model']),
    ...calls.flatMap((call) => [call.id, call.name, call.arguments]).flatMap((it) => (typeof it === 'string' ? [] : ['call'])),
    ...Object.values(usage).flatMap((count) => (isCount(count) ? [] : ['usage'])),
    ...(usage.cache_read + usage.cache_write <= usage.total_in ? [] : ['cached']),
  ];
}

let vendor: CompatibleVendor;
beforeAll(async () => {
  vendor = await startCompatibleVendor(() => null);
});
afterAll(() => vendor.stop());

function answered(provider_type: string, events: object[]): Promise<Answered> {
  vendor.script({ events });
  const base_url = provider_type === 'anthropic_messages' ? vendor.url : `${vendor.url}/v1`;
  return reply({ provider_type, base_url, api_key_token_name: 'key' } as object);
}

/** The faults of the answer; empty if it is a reply or a failure of the model. */
async function outcome(provider_type: string, events: object[]): Promise<string[]> {
  try {
    return faultsOf(await answered(provider_type, events));
  } catch (error) {
    if (!(error instanceof ModelFailure)) return [`${error}`];
    return codeIn(error.message) ? [error.message] : [];
  }
}

describe.each(ANSWERS)('an answer by %s', (_, provider_type, { events }) => {
  it('that is as documented is a reply', async () => {
    const { text, calls, finish } = await answered(provider_type, events);
    expect({ text, calls, finish }).toEqual({
      text: 'Let me look.',
      calls: [{ id: 'call_1', name: 'look', arguments: expect.stringMatching(/^\{"at": ?1\}$/) }],
      finish: 'tool_calls',
    });
  });

  it.each(placesIn(events).map((path) => [path.join('.'), path] as const))(
    'with anything at %s is a reply or a failure of the model',
    async (_place, path) => {
      const faults: string[] = [];
      for (const [name, value] of ODD_VALUES)
        faults.push(...(await outcome(provider_type, changedAt(events, path, value))).map((fault) => `${name}: ${fault}`));
      expect(faults).toEqual([]);
    },
  );
});

it('whatever else goes wrong with an answer is a failure of the model, which is retried at most twice', async () => {
  const { limitRuntime: bounded } = exchangeBounds({ total_ms: 60_000, silence_ms: null });
  for (const wrong of [new Error('odd'), new TypeError('odd'), 'odd', undefined]) {
    const runtime = bounded({ exchange: () => Promise.reject(wrong) });
    const failed = await failure(runtime.exchange(exchangeOf(), () => {}, new AbortController().signal));
    expect(failed).toMatchObject({ code: 'bad_model_response', recoverable: true });
  }
});

it.each([
  [false, 19],
  [true, 13],
])('what was not reported of an answer that is too large is estimated once (estimated: %s)', async (estimated, total_out) => {
  const usage = { ...NO_EXCHANGE_USAGE, total_in: 7, total_out: 13 };
  const large: ModelReply = {
    text: 'x'.repeat(REPLY_CHARACTERS + 1),
    calls: [],
    finish: 'stop',
    model: null,
    usage,
    extra: null,
  };
  const runtime = exchangeBounds({ total_ms: 60_000, silence_ms: null }).limitRuntime({
    exchange: async (_, emit) => {
      emit('Fifteen words it is not.');
      return { reply: { ...large, estimated }, cursor: null };
    },
  });
  const failed = await failure(runtime.exchange(exchangeOf(), () => {}, new AbortController().signal));
  expect(failed).toMatchObject({ code: 'model_answer_too_large', answer: { usage: { total_in: 7, total_out } } });
});

it.each([
  [
    { total_ms: 20, silence_ms: 60_000 },
    { code: 'model_deadline', recoverable: false },
  ],
  [
    { total_ms: 60_000, silence_ms: 20 },
    { code: 'model_timeout', recoverable: true },
  ],
])('an answer that does not end within %j is a failure of the model', async (deadlines, failed) => {
  const runtime = exchangeBounds(deadlines).limitRuntime({
    exchange: (_, __, signal) =>
      new Promise((___, reject) => signal.addEventListener('abort', () => reject(new Error('the fetch was aborted')))),
  });
  expect(await failure(runtime.exchange(exchangeOf(), () => {}, new AbortController().signal))).toMatchObject(failed);
});

it.each<[string, unknown, object]>([
  [
    'too many bytes',
    new OutsideRefused('more than 9 bytes', ANSWER_TOO_LARGE),
    { code: 'model_answer_too_large', message: "The model's endpoint sent too much: more than 9 bytes" },
  ],
  [
    'a refused address',
    new OpenAI.APIConnectionError({ cause: Object.assign(new Error('not allowed'), { code: 'EGRESS_DENIED' }) }),
    { code: 'egress_denied', message: 'not allowed', recoverable: false },
  ],
])('%s is a failure with a separate code', (_, error, failed) => {
  expect(toModelFailure(error)).toMatchObject(failed);
});

it('a text longer than any answer is refused', () => {
  const { add } = collectReply({ emit: () => {} });
  const say = (length: number) => add({ choices: [{ index: 0, delta: { content: 'x'.repeat(length) } }] });
  say(REPLY_CHARACTERS);
  expect(() => say(1)).toThrow(OutsideRefused);
});

const LIST = {
  object: 'list',
  data: [{ id: 'small', name: 'Small', display_name: 'Small', context_window: 8_000, max_input_tokens: 8_000 }],
};

it.each(placesIn(LIST).map((path) => [path.join('.'), path] as const))(
  'a list of models with anything at %s is a list or a refusal',
  async (_, path) => {
    const faults: string[] = [];
    for (const [name, value] of ODD_VALUES) {
      const fetch = async () => Response.json(changedAt(LIST, path, value));
      const client = new OpenAI({ apiKey: 'key', baseURL: 'http://models.test/v1', maxRetries: 0, fetch });
      const list = modelLister({ redact: () => redactor() });
      try {
        const read = z.array(Model).safeParse(await list({ key: name, client: async () => client, provider: null }));
        if (!read.success) faults.push(`${name}: ${z.prettifyError(read.error)}`);
      } catch (error) {
        if (!(error instanceof AppError) || codeIn(error.message)) faults.push(`${name}: ${error}`);
      }
    }
    expect(faults).toEqual([]);
  },
);

it.each(['mark', 'whole'] as const)(
  'thinking that never ends is the answer of a body without a reason for its end (%s)',
  (by) => {
    const { add, reply: end } = collectReply({ emit: () => {} });
    add({ choices: [{ index: 0, delta: { content: '<think>It is 4.' } }] });
    expect(end({ by, stray: null })).toMatchObject({ text: 'It is 4.', finish: 'stop' });
  },
);
