import { afterEach, describe, expect, it } from 'vitest';
import type { PinnedProvider } from '../../src/domain/definition.ts';
import { type Dialect, getDialect } from '../../src/domain/dialect.ts';
import { presetsWithModels } from '../../src/domain/provider-presets.ts';
import type { TranscriptMessage } from '../../src/domain/transcript.ts';
import { calculateCost } from '../../src/domain/usage.ts';
import { collectReply } from '../../src/runtimes/chat-reply.ts';
import { chatRequest, strictCallId } from '../../src/runtimes/chat-request.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { selectRuntime } from '../../src/runtimes/select.ts';
import { type CompatibleVendor, chatAnswer, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { caller, DIRECT, exchangeOf, failure, message, providerOf } from './support.ts';

let vendor: CompatibleVendor;
afterEach(() => vendor.stop());

const LOOK = { name: 'look', description: 'Looks.', parameters: { type: 'object' }, effect: 'read' as const };

const FIRST: Record<string, string> = {
  anthropic: 'claude-sonnet-5',
  google: 'gemini-2.5-flash',
  mistral: 'mistral-large-latest',
};
const presetOf = (id: string) => presetsWithModels((vendor) => FIRST[vendor] ?? 'm-7').find((preset) => preset.id === id)!;

/** A provider filled in from a preset, whose address leads to the vendor's server of this test. */
async function exchangeWith(id: string, provider: Partial<PinnedProvider>, values: Partial<Exchange>) {
  const { provider_type, base_url, model_example } = presetOf(id);
  const pinned = providerOf({ provider_type, base_url, default_model: model_example, api_key_token_name: 'key', ...provider });
  const through = vendor.at(provider.base_url ?? base_url ?? 'https://api.openai.com/v1');
  const options = { default_runtime: { base_url: 'http://127.0.0.1:9', model: null }, ...DIRECT };
  const { runtime, prices } = await selectRuntime({ provider: pinned, tools: [] }, caller, {
    ...options,
    ...{ fetch: through, vendor_url: vendor.url },
  });
  const { reply } = await runtime.exchange(exchangeOf({ tools: [LOOK], ...values }), () => {}, new AbortController().signal);
  return { reply, prices };
}

const PROMPT = message({ content: 'Look.' });

/** What the run records of a reply with calls, and the results of its calls. */
function recorded({ text, calls, extra }: Awaited<ReturnType<typeof exchangeWith>>['reply'], step = 1): TranscriptMessage[] {
  const tool_calls = calls.map(({ name, arguments: args }, index) => ({
    ...{ call_id: `${step}-${index + 1}`, name, arguments: args },
  }));
  // As JSON, because the database keeps it between the steps.
  const stored = JSON.parse(JSON.stringify(extra));
  return [
    message({ step, role: 'assistant', kind: 'reply', content: text, tool_calls, extra: stored }),
    ...tool_calls.map(({ call_id }, index) =>
      message({ step, position: index + 1, role: 'tool', kind: 'result', content: `seen ${index}`, call_id }),
    ),
  ];
}

/** Two steps with a tool call: the second request must carry what the vendor wants back. */
async function twoSteps(id: string, provider: Partial<PinnedProvider> = {}, values: Partial<Exchange> = {}) {
  const { reply } = await exchangeWith(id, provider, { transcript: [PROMPT], ...values });
  const transcript = [PROMPT, ...recorded(reply), message({ step: 1, position: 9, content: 'Mind the goal.', kind: 'reminder' })];
  const second = await exchangeWith(id, provider, { transcript, ...values });
  expect(second.reply.text).toBe('Done.');
  return { first: reply, sent: vendor.requests.at(-1)!, transcript };
}

const call = (id: string, more: object = {}) => ({
  tool_calls: [{ index: 0, id, type: 'function', function: { name: 'look', arguments: '{}' }, ...more }],
});

describe('what belongs to a vendor survives the round trip', () => {
  it('thought_signature of Gemini, at the call it came with', async () => {
    vendor = await startCompatibleVendor(vendors.gemini);
    const extra_content = { google: { thought_signature: 'c2lnbmVk' } };
    const second = { index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '{}' } };
    vendor.script(
      chatAnswer([call('a', { extra_content }), { tool_calls: [second] }], {
        ...{ finish: 'tool_calls', issues: { id: 'a', added: { thought_signature: 'c2lnbmVk' } } },
      }),
    );
    const { sent } = await twoSteps('gemini', { default_model: 'gemini-3-flash-preview' });
    const calls = sent.messages.find(({ role }: { role: string }) => role === 'assistant').tool_calls;
    expect(calls).toEqual([
      { id: '1-1', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content },
      { id: '1-2', type: 'function', function: { name: 'look', arguments: '{}' } },
    ]);
    expect(vendor.refused()).toBe(0);
  });

  it('calls that another model made are marked for Gemini, and only for models that sign', async () => {
    vendor = await startCompatibleVendor(vendors.gemini);
    const tool_calls = [{ call_id: '1-1', name: 'look', arguments: '{}' }];
    const transcript = [
      ...[PROMPT, message({ role: 'assistant', kind: 'reply', tool_calls })],
      message({ role: 'tool', kind: 'result', content: 'seen', call_id: '1-1' }),
    ];
    await exchangeWith('gemini', { default_model: 'gemini-3-pro' }, { transcript });
    expect(await failure(exchangeWith('gemini', { default_model: 'gemini-2.5-flash' }, { transcript }))).toMatchObject({
      ...{ recoverable: false, message: expect.stringContaining('Function call is missing a thought_signature') },
    });
  });

  it('reasoning_details of OpenRouter, put together from their pieces', async () => {
    vendor = await startCompatibleVendor(vendors.openrouter);
    const reasoning_details = [
      { type: 'reasoning.text', text: 'Let me look.', signature: 'sig-1', format: 'anthropic-claude-v1', index: 0 },
      { type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'r2', format: 'openai-responses-v1', index: 1 },
    ];
    const piece = (more: object) => ({
      reasoning_details: [{ type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0, ...more }],
    });
    vendor.script(
      chatAnswer(
        [
          { reasoning: 'Let me ', ...piece({ text: 'Let me ' }) },
          { reasoning: 'look.', ...piece({ text: 'look.' }) },
          piece({ signature: 'sig-1' }),
          { reasoning_details: [reasoning_details[1]] },
          call('a'),
        ],
        { finish: 'tool_calls', issues: { id: 'a', added: { reasoning_details: ordered(reasoning_details) } } },
      ),
    );
    const { sent, first } = await twoSteps('openrouter');
    const answer = sent.messages.find(({ role }: { role: string }) => role === 'assistant');
    expect(answer.reasoning_details).toEqual(reasoning_details);
    expect(answer).not.toHaveProperty('reasoning_content');
    expect(first.text).toBe('');
  });

  it('details without a place, and the thinking of a text with calls', () => {
    const { add, reply } = collectReply({ emit: () => {} });
    const piece = (...reasoning_details: object[]) => add({ choices: [{ index: 0, delta: { reasoning_details } }] });
    piece({ type: 'reasoning.text', text: 'Let me ', format: null });
    piece({ type: 'reasoning.text', text: 'look.', signature: null, format: 'plain' });
    piece({ type: 'reasoning.text', text: 'Twice.', index: 1 });
    add({ choices: [{ index: 0, delta: { content: '<think>Hm.</think>', ...call('a') }, finish_reason: 'tool_calls' }] });
    expect(reply({ by: 'mark', stray: null }).extra).toEqual({
      reasoning_details: [
        { type: 'reasoning.text', text: 'Let me look.', format: 'plain' },
        { type: 'reasoning.text', text: 'Twice.', index: 1 },
      ],
      thought: 'Hm.',
    });
  });

  it('a word of the system right after a result, within it for Mistral', () => {
    const transcript = [
      message({ role: 'assistant', kind: 'reply', tool_calls: [{ call_id: '1-1', name: 'look', arguments: '{}' }] }),
      message({ role: 'tool', kind: 'result', content: 'seen', call_id: '1-1' }),
      message({ role: 'system', kind: 'invalid', content: 'Answer again.' }),
    ];
    const sent = (dialect: Partial<Dialect>) =>
      chatRequest(exchangeOf({ transcript }), 'm', { ...getDialect(null, 'm'), ...dialect }).messages.slice(2);
    expect(sent({ strict_calls: true })).toMatchObject([{ role: 'tool', content: 'seen\n\nAnswer again.' }]);
    expect(sent({ strict_calls: false })).toMatchObject([{ role: 'tool' }, { role: 'system', content: 'Answer again.' }]);
  });

  it('call ids that Mistral takes: nine letters or digits, the same at each attempt', async () => {
    vendor = await startCompatibleVendor(vendors.mistral);
    vendor.script(chatAnswer([call('D681PevKs')], { finish: 'tool_calls' }));
    const settings = { temperature: 0.2, max_output_tokens: 100, stop: ['END'], parallel_tool_calls: false };
    const { sent, transcript } = await twoSteps('mistral', {}, { call_settings: settings });
    const [answer, result] = sent.messages.slice(-2);
    expect(answer.tool_calls[0].id).toMatch(/^[a-z0-9]{9}$/);
    expect(result).toEqual({ role: 'tool', tool_call_id: answer.tool_calls[0].id, content: 'seen 0\n\nMind the goal.' });
    await exchangeWith('mistral', {}, { transcript, call_settings: settings });
    expect(vendor.requests.at(-1)).toEqual(sent);
    expect(sent).toMatchObject({ temperature: 0.2, max_tokens: 100, stop: ['END'], parallel_tool_calls: false });
    expect(vendor.refused()).toBe(0);
  });

  it('the same ids for a model of Mistral that is served elsewhere', async () => {
    vendor = await startCompatibleVendor((body, issued) => {
      const { stream_options: _, ...rest } = body;
      return vendors.mistral(rest, issued);
    });
    vendor.script(chatAnswer([call('a')], { finish: 'tool_calls' }));
    await twoSteps('ollama', { default_model: 'mistral-small:24b' });
    expect(vendor.refused()).toBe(0);
  });

  it('signed and redacted thinking of Anthropic, in its place among text and calls', async () => {
    vendor = await startCompatibleVendor(vendors.anthropic);
    const thinking = [
      { type: 'thinking', thinking: 'I should look.', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'b3BhcXVl' },
    ];
    const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: { at: id } });
    vendor.script(
      messageAnswer([thinking[0]!, { type: 'text', text: 'Looking.' }, thinking[1]!, use('toolu_1'), use('toolu_2')], {
        ...{ stop: 'tool_use', issues: { id: 'toolu_1', added: { thinking } } },
      }),
    );
    const { sent, first } = await twoSteps('anthropic', {}, { reasoning_effort: 'low' });
    expect(first).toMatchObject({
      text: 'Looking.',
      finish: 'tool_calls',
      calls: [{ id: 'toolu_1', arguments: '{"at":"toolu_1"}' }, {}],
    });
    expect(sent.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          thinking[0],
          { type: 'text', text: 'Looking.' },
          thinking[1],
          { type: 'tool_use', id: '1-1', name: 'look', input: { at: 'toolu_1' } },
          { type: 'tool_use', id: '1-2', name: 'look', input: { at: 'toolu_2' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: '1-1', content: 'seen 0', is_error: false },
          { type: 'tool_result', tool_use_id: '1-2', content: 'seen 1', is_error: false },
          { type: 'text', text: 'Mind the goal.', cache_control: { type: 'ephemeral' } },
        ],
      },
    ]);
    expect(sent).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'low' } });
    expect(vendor.headers[0]).toMatchObject({ authorization: 'Bearer value of key', 'anthropic-version': expect.any(String) });
    expect(vendor.refused()).toBe(0);
  });

  it('arguments that are not an object reach Anthropic as one', async () => {
    vendor = await startCompatibleVendor(vendors.anthropic);
    const args = ['{"broken', '[1]', '', '['.repeat(200)];
    const tool_calls = args.map((text, index) => ({ call_id: `1-${index + 1}`, name: '', arguments: text }));
    const results = tool_calls.map(({ call_id }) => message({ role: 'tool', kind: 'denial', call_id }));
    await exchangeWith(
      'anthropic',
      {},
      { transcript: [PROMPT, message({ role: 'assistant', kind: 'reply', tool_calls }), ...results] },
    );
    expect(vendor.requests[0]!.messages[1].content.map(({ input }: { input: object }) => input)).toEqual([
      ...[{ not_valid_json: args[0] }, { not_valid_json: args[1] }, {}, { not_valid_json: args[3] }],
    ]);
    expect(vendor.requests[0]!.messages[2].content[0]).toMatchObject({ content: '(no content)', is_error: true });
  });
});

describe('what Anthropic is asked to keep', () => {
  /** The places of a request that are marked. */
  const markedIn = ({ tools = [], system = [], messages }: Record<string, any>) => {
    const marked = (blocks: any, place: string) =>
      (typeof blocks === 'string' ? [] : blocks).flatMap((block: any, index: number) =>
        block.cache_control ? [`${place}.${index}`] : [],
      );
    const said = messages.flatMap(({ content }: { content: unknown }, index: number) => marked(content, `messages.${index}`));
    return [...marked(tools, 'tools'), ...marked(system, 'system'), ...said];
  };
  const answered = (step: number) => [
    message({ step, role: 'assistant', kind: 'reply', tool_calls: [{ call_id: `${step}-1`, name: 'look', arguments: '{}' }] }),
    message({ step, position: 1, role: 'tool', kind: 'result', content: 'seen', call_id: `${step}-1` }),
  ];
  const sentWith = async (values: Partial<Exchange>) => {
    await exchangeWith('anthropic', {}, { transcript: [PROMPT], ...values });
    return markedIn(vendor.requests.at(-1)!);
  };

  it('is everything up to the instructions, and the ends of the last two turns', async () => {
    vendor = await startCompatibleVendor(vendors.anthropic);
    expect(await sentWith({})).toEqual(['system.0', 'messages.0.0']);
    expect(await sentWith({ instructions: '', tools: [LOOK, { ...LOOK, name: 'see' }] })).toEqual(['tools.1', 'messages.0.0']);
    const transcript = [PROMPT, ...answered(1), ...answered(2), ...answered(3)];
    expect(await sentWith({ transcript })).toEqual(['system.0', 'messages.4.0', 'messages.6.0']);
    expect(vendor.refused()).toBe(0);
  });

  it('does not include a prompt that is sent once only', async () => {
    vendor = await startCompatibleVendor(vendors.anthropic);
    expect(await sentWith({ tools: [] })).toEqual(['system.0']);
    const transcript = [PROMPT, message({ role: 'assistant', kind: 'reply', content: 'Yes.' }), PROMPT];
    expect(await sentWith({ tools: [], transcript })).toEqual(['system.0', 'messages.0.0', 'messages.2.0']);
  });

  it('is counted and priced apart from other input', async () => {
    vendor = await startCompatibleVendor(vendors.anthropic);
    const usage = { input_tokens: 10, cache_read_input_tokens: 2_000, cache_creation_input_tokens: 300 };
    vendor.script(messageAnswer([{ type: 'text', text: 'Done.' }], { usage }));
    const { reply, prices } = await exchangeWith('anthropic', { default_model: 'claude-sonnet-4-20250514' }, {});
    expect(reply.usage).toEqual({ total_in: 2_310, total_out: 4, cache_read: 2_000, cache_write: 300 });
    expect(calculateCost(reply.usage, ['claude-sonnet-4-20250514'], prices)).toBeCloseTo(
      (10 * 3 + 2_000 * 0.3 + 300 * 3.75 + 4 * 15) / 1e6,
    );
  });
});

/** As the pieces arrive, so that the vendor can compare texts. */
const ordered = (details: object[]) => [
  Object.fromEntries(['type', 'format', 'index', 'text', 'signature'].map((name) => [name, (details[0] as never)[name]])),
  details[1],
];

describe('the id of a call', () => {
  it('is another one for each call, and the same for the same', () => {
    const ids = [1, 35, 36, 999_999].flatMap((step) => [1, 2, 256].map((index) => `${step}-${index}`));
    const mapped = [...ids, 'call_x', 'call_y', '99999999999-1'].map(strictCallId);
    expect(new Set(mapped).size).toBe(mapped.length);
    expect(mapped.every((id) => /^[a-z0-9]{9}$/.test(id))).toBe(true);
    expect(strictCallId('12-3')).toBe('00000c003');
  });
});

const CACHED_SYSTEM = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];

describe('settings of a call', () => {
  const call_settings = { temperature: 0.5, top_p: 0.9, max_output_tokens: 50, stop: ['A', 'B'], parallel_tool_calls: true };
  const sentTo = async (
    id: string,
    rules: vendors.Rules,
    values: Partial<Exchange> = {},
    provider: Partial<PinnedProvider> = {},
  ) => {
    vendor = await startCompatibleVendor(rules);
    await exchangeWith(id, provider, { call_settings, ...values });
    const { messages: _, model: __, stream: ___, stream_options: ____, tools: _____, ...settings } = vendor.requests[0]!;
    return settings;
  };

  it.each([
    ['openai', vendors.openai, 'max_completion_tokens'],
    ['mistral', vendors.mistral, 'max_tokens'],
    ['openrouter', vendors.openai, 'max_tokens'],
    ['gemini', vendors.gemini, 'max_tokens'],
    ['ollama', vendors.openai, 'max_tokens'],
    ['bedrock', vendors.openai, 'max_completion_tokens'],
  ])('reach %s under its names', async (id, rules, limit) => {
    const { max_output_tokens, ...same } = call_settings;
    expect(await sentTo(id, rules)).toEqual({ ...same, [limit]: max_output_tokens });
  });

  const own = { service_tier: 'flex', verbosity: 'low' } as const;
  const azure = 'https://house.openai.azure.com/openai';
  it.each<[string, string, vendors.Rules, Partial<PinnedProvider>, object]>([
    ['OpenAI', 'openai', vendors.openaiItself, { default_model: 'gpt-5.1' }, { ...own, prompt_cache_key: 'key-7' }],
    [
      'an earlier model of OpenAI',
      'openai',
      vendors.openaiItself,
      { default_model: 'gpt-4.1' },
      { service_tier: 'flex', prompt_cache_key: 'key-7' },
    ],
    [
      "Azure's current API",
      'openai',
      vendors.openaiItself,
      { provider_type: 'azure_openai', base_url: `${azure}/v1`, default_model: 'gpt-5.1' },
      { ...own, prompt_cache_key: 'key-7' },
    ],
    [
      "another vendor's model at Azure",
      'openai',
      vendors.openai,
      { provider_type: 'azure_openai', base_url: `${azure}/v1`, default_model: 'Kimi-K2.5' },
      {},
    ],
    [
      'a dated version of Azure',
      'openai',
      vendors.openai,
      { provider_type: 'azure_openai', base_url: azure, azure_deployment: 'gpt-5.1' },
      {},
    ],
    [
      "a gateway of OpenAI's type",
      'openai',
      vendors.openai,
      { base_url: 'https://openai.azure.com.gateway.example/openai/v1', default_model: 'gpt-5.1' },
      {},
    ],
    ['OpenRouter', 'openrouter', vendors.openai, { default_model: 'openai/gpt-5.1' }, {}],
    ['Mistral', 'mistral', vendors.mistral, {}, {}],
  ])('of OpenAI alone, and the key of its cache, reach %s if it takes them', async (_, id, rules, provider, expected) => {
    const { tool_choice: __, ...sent } = await sentTo(id, rules, { call_settings: own, cache_key: 'key-7' }, provider);
    expect(sent).toEqual(expected);
  });

  it('of OpenAI alone do not reach Anthropic', async () => {
    expect(await sentTo('anthropic', vendors.anthropic, { call_settings: own, cache_key: 'key-7' })).toEqual({
      system: CACHED_SYSTEM,
      max_tokens: 8_192,
    });
  });

  it('reach Anthropic under its names, with the limit it requires', async () => {
    expect(await sentTo('anthropic', vendors.anthropic)).toEqual({
      ...{ system: CACHED_SYSTEM, max_tokens: 50, temperature: 0.5, stop_sequences: ['A', 'B'] },
      tool_choice: { type: 'auto', disable_parallel_tool_use: false },
    });
    await vendor.stop();
    expect(await sentTo('anthropic', vendors.anthropic, { call_settings: {} })).toEqual({
      system: CACHED_SYSTEM,
      max_tokens: 8_192,
    });
  });

  it('reach Claude as one of temperature and top_p, wherever it is served', async () => {
    const provider = { default_model: 'anthropic/claude-opus-4.5' };
    expect(await sentTo('openrouter', vendors.openai, {}, provider)).not.toHaveProperty('top_p');
    await vendor.stop();
    expect(await sentTo('anthropic', vendors.anthropic, { call_settings: { top_p: 0.9 } })).toHaveProperty('top_p');
  });

  it('leave out parallel_tool_calls without tools, which OpenAI refuses', async () => {
    expect(await sentTo('openai', vendors.openai, { tools: [] })).not.toHaveProperty('parallel_tool_calls');
  });

  it('that a reasoning model refuses fail with its words, and are not retried', async () => {
    vendor = await startCompatibleVendor(vendors.openai);
    const refused = await failure(exchangeWith('openai', { default_model: 'gpt-5' }, { call_settings: { temperature: 0.2 } }));
    expect(refused).toMatchObject({ code: 'model_error', recoverable: false });
    expect(refused.message).toContain("'temperature' does not support 0.2 with this model");
    await exchangeWith('openai', { default_model: 'gpt-5' }, { call_settings: { max_output_tokens: 9 } });
  });
});

describe("a vendor's refusal", () => {
  it.each([
    [
      'Mistral, field by field',
      { message: { detail: [{ loc: ['body', 'x'], msg: 'Extra inputs' }] } },
      '400 body.x: Extra inputs',
    ],
    ['Mistral, a sentence', { object: 'error', message: 'Tool call id was 1-1' }, '400 Tool call id was 1-1'],
    ['Gemini, in a list', [{ error: { code: 400, message: 'API key not valid.' } }], '400 API key not valid.'],
    ['Amazon', { Message: 'The security token is invalid.' }, '400 The security token is invalid.'],
    ['FastAPI', { detail: 'Not Found' }, '400 Not Found'],
    [
      'OpenRouter, with the words of the vendor behind it',
      { error: { message: 'Provider returned error', metadata: { raw: 'too long' } } },
      'error: too long',
    ],
    ['a text', { error: 'no such model' }, '400 no such model'],
    ['nothing readable', { oh: 'no' }, '400 oh no'],
  ])('is shown in its own words: %s', async (_, body, words) => {
    vendor = await startCompatibleVendor(() => ({ status: 400, body }));
    expect((await failure(exchangeWith('openai', {}, {}))).message).toContain(words);
  });
});

it('list prices hold at the vendor itself and nowhere else', async () => {
  vendor = await startCompatibleVendor(vendors.openai);
  const priced = async (id: string, provider: Partial<PinnedProvider> = {}) =>
    Object.keys((await exchangeWith(id, provider, {})).prices);
  expect(await priced('gemini')).toContain('gemini-2.5-flash');
  expect(await priced('mistral')).toContain('codestral-latest');
  expect(await priced('gemini', { base_url: `${vendor.url}/v1` })).toEqual([]);
  expect(await priced('openrouter')).toEqual([]);
  await vendor.stop();
  vendor = await startCompatibleVendor(vendors.anthropic);
  expect(await priced('anthropic')).toContain('claude-haiku-4-5');
});
