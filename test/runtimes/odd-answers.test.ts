import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { exchangeBounds } from '../../src/runtimes/bounded.ts';
import type { ModelReply } from '../../src/runtimes/runtime.ts';
import {
  type CompatibleVendor,
  chatAnswer,
  messageAnswer,
  startCompatibleVendor,
  type VendorAnswer,
} from '../support/compatible-vendor.ts';
import { exchangeOf, failure, reply } from './support.ts';

type Json = Record<string, any>;
type Path = (string | number)[];

const ABSENT = Symbol('absent');
const ODD: [name: string, value: unknown][] = [
  ['absent', ABSENT],
  ...[null, true, 0, -1, 1.5, 1e308, '', 'odd', '\u0000', '\uD800', [], {}, [null], [1], { a: 1 }, 'x'.repeat(300)].map(
    (value): [string, unknown] => [JSON.stringify(value).slice(0, 20), value],
  ),
];

/** Every place within a value, the value itself excluded. */
function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    const place = [...path, Array.isArray(value) ? Number(key) : key];
    return [place, ...placesIn(part, place)];
  });
}

function changed(events: object[], path: Path, value: unknown): object[] {
  const copy = structuredClone(events) as Json;
  const holder = path.slice(0, -1).reduce((part: Json, key) => part[key], copy);
  const last = path.at(-1)!;
  if (value === ABSENT) delete holder[last];
  else holder[last] = value;
  return copy.filter((event: unknown) => event !== undefined);
}

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
    return error instanceof ModelFailure ? [] : [`${error}`];
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
      for (const [name, value] of ODD)
        faults.push(...(await outcome(provider_type, changed(events, path, value))).map((fault) => `${name}: ${fault}`));
      expect(faults).toEqual([]);
    },
  );
});

it('whatever else goes wrong with an answer is a failure of the model, so that it is not asked without an end', async () => {
  const { bounded } = exchangeBounds({ total_ms: 60_000, silence_ms: null });
  for (const wrong of [new Error('odd'), new TypeError('odd'), 'odd', undefined]) {
    const runtime = bounded({ exchange: () => Promise.reject(wrong) });
    const failed = await failure(runtime.exchange(exchangeOf(), () => {}, new AbortController().signal));
    expect(failed).toMatchObject({ code: 'bad_model_response', recoverable: true });
  }
});
