import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TranscriptMessage } from '../../src/domain/transcript.ts';
import { messagesRequest } from '../../src/runtimes/messages-request.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { type CompatibleVendor, messageAnswer, startCompatibleVendor } from '../support/peers/compatible-vendor.ts';
import * as vendors from '../support/peers/vendor-rules.ts';
import { exchangeOf, failure, message, reply } from './support.ts';

let vendor: CompatibleVendor;
beforeEach(async () => {
  vendor = await startCompatibleVendor(vendors.anthropic);
});
afterEach(() => vendor.stop());

const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
const LOOK = { name: 'look', description: 'Looks.', parameters: { type: 'object' }, effect: 'read' as const };
const PROMPT = message({ content: 'What is new?' });

const search = (id: string) => ({ type: 'server_tool_use', id, name: 'web_search', input: { query: `news ${id}` } });
const found = (id: string) => ({
  type: 'web_search_tool_result',
  tool_use_id: id,
  content: [
    { type: 'web_search_result', url: 'https://news.example', title: 'News', encrypted_content: 'c2VhbGVk', page_age: null },
  ],
});
const cited = (text: string) => ({
  ...{ type: 'text', text },
  citations: [
    { type: 'web_search_result_location', url: 'https://news.example', cited_text: 'It rains.', encrypted_index: 'aWR4' },
  ],
});
const text = (said: string) => ({ type: 'text', text: said });
const use = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } };

const ask = (values: Partial<Exchange> = {}) =>
  reply(
    { provider_type: 'anthropic_messages', base_url: vendor.url, api_key_token_name: 'key' },
    { transcript: [PROMPT], hosted_tools: [SEARCH], ...values },
  );

type Answered = Awaited<ReturnType<typeof ask>>;

/** As the record has a reply. */
function recorded({ text: content, calls, extra }: Answered, values: Partial<TranscriptMessage> = {}): TranscriptMessage[] {
  const tool_calls = calls.map(({ name, arguments: args }, at) => ({ call_id: `1-${at + 1}`, name, arguments: args }));
  const stored = JSON.parse(JSON.stringify(extra));
  return [
    message({ step: 1, role: 'assistant', kind: 'reply', content, tool_calls, extra: stored, ...values }),
    ...tool_calls.map(({ call_id }) => message({ step: 1, role: 'tool', kind: 'result', content: 'seen', call_id })),
  ];
}

/** What the vendor is sent of its earlier reply. */
const sentOf = () => vendor.requests.at(-1)!.messages.find(({ role }: { role: string }) => role === 'assistant').content;
const withoutIds = (blocks: object[]) => blocks.map((block) => (block === use ? { ...use, id: '1-1' } : block));

const SEARCHED = [text('Let me see.'), search('a'), found('a'), text('Well: '), cited('it rains'), text('.')];

describe('a tool that the vendor runs', () => {
  it('is offered to it as it is, before the functions', async () => {
    await ask({ tools: [LOOK] });
    expect(vendor.requests[0]!.tools).toEqual([
      SEARCH,
      { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } },
    ]);
    await ask({ call_settings: { parallel_tool_calls: false } });
    expect(vendor.requests[1]).toMatchObject({
      tools: [SEARCH],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
  });

  it('leaves its calls and results in a final answer, and in one with calls, in their order', async () => {
    for (const calls of [[], [use]]) {
      vendor.script(messageAnswer([...SEARCHED, ...calls], { stop: calls.length > 0 ? 'tool_use' : 'end_turn' }));
      const first = await ask({ tools: [LOOK] });
      expect(first.text).toBe('Let me see.Well: it rains.');
      expect(first.streamed).toBe(first.text);
      const transcript = [PROMPT, ...recorded(first), message({ step: 2, content: 'And then?' })];
      await ask({ tools: [LOOK], transcript });
      expect(sentOf()).toEqual(withoutIds([...SEARCHED, ...calls]));
    }
    expect(vendor.refused()).toBe(0);
  });

  it('is reported with what it found, as people can read it', async () => {
    const failed = {
      type: 'web_search_tool_result',
      tool_use_id: 'b',
      content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    };
    vendor.script(messageAnswer([search('a'), found('a'), search('b'), failed, text('Rain.')]));
    const { made_there } = await ask();
    expect(made_there).toEqual([
      {
        id: 'a',
        name: 'web_search',
        arguments: '{"query":"news a"}',
        result: { content: expect.stringContaining('news.example'), failed: false },
      },
      {
        id: 'b',
        name: 'web_search',
        arguments: '{"query":"news b"}',
        result: { content: expect.stringContaining('max_uses_exceeded'), failed: true },
      },
    ]);
    expect(JSON.stringify(made_there)).not.toContain('c2VhbGVk');
  });

  it('that another one called is sent back with its caller', async () => {
    const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_9' };
    const called = [search('a'), found('a'), text('It rains.')].map((block, at) => (at < 2 ? { ...block, caller } : block));
    vendor.script(messageAnswer(called));
    const first = await ask();
    expect(first.extra).toMatchObject({ blocks: [{ id: 'a', caller }, { tool_use_id: 'a', caller }, { type: 'text' }] });
  });

  it('is sent no text that is not on record', async () => {
    vendor.script(messageAnswer(SEARCHED));
    const first = await ask();
    expect(JSON.stringify(first.extra)).not.toMatch(/Let me see|Well/);
    for (const content of ['[removed]', '']) {
      await ask({ transcript: [PROMPT, ...recorded(first, { content }), message({ step: 2, content: 'And?' })] });
      expect(sentOf()).toEqual([...(content ? [text(content)] : []), search('a'), found('a')]);
    }
    expect(vendor.refused()).toBe(0);
  });

  it('gets no part of a text without letters, which it would refuse', async () => {
    vendor.script(messageAnswer([search('a'), found('a'), cited('It rains'), text('\n\n'), cited('It snows')]));
    const first = await ask();
    await ask({ transcript: [PROMPT, ...recorded(first), message({ step: 2, content: 'And?' })] });
    expect(sentOf()).toEqual([search('a'), found('a'), cited('It rains'), cited('It snows')]);
    expect(vendor.refused()).toBe(0);
  });

  it('may be called together with a function, and runs when the result of that is sent', async () => {
    vendor.script(messageAnswer([search('a'), use], { stop: 'tool_use' }));
    const first = await ask({ tools: [LOOK] });
    vendor.script(messageAnswer([found('a'), text('Rain.')]));
    const transcript = [PROMPT, ...recorded(first)];
    const second = await ask({ tools: [LOOK], transcript });
    expect(sentOf()).toEqual(withoutIds([search('a'), use]));
    await ask({
      tools: [LOOK],
      transcript: [...transcript, ...recorded(second, { step: 2 }), message({ step: 3, content: 'And?' })],
    });
    expect(sentOf()).toEqual(withoutIds([search('a'), use]));
    expect(vendor.requests.at(-1)!.messages[3].content).toEqual([found('a'), text('Rain.')]);
    // At the limit of turns the vendor is offered nothing, so it cannot make the call any more.
    await ask({ hosted_tools: [], transcript });
    expect(sentOf()).toEqual(withoutIds([use]));
    expect(vendor.refused()).toBe(0);
  });

  it('whose call was cut off is not asked for again', async () => {
    vendor.script(messageAnswer([text('Let me see.'), search('a')], { stop: 'max_tokens' }));
    const first = await ask();
    await ask({ transcript: [PROMPT, ...recorded(first), message({ step: 2, content: 'JSON please.', kind: 'repair' })] });
    expect(sentOf()).toEqual('Let me see.');
    expect(vendor.refused()).toBe(0);
  });

  it('that runs code continues where it ran', async () => {
    const code = { type: 'code_execution_20250825', name: 'code_execution' };
    const ran = {
      type: 'bash_code_execution_tool_result',
      tool_use_id: 'a',
      content: { type: 'bash_code_execution_result', stdout: '2' },
    };
    const { events } = messageAnswer([{ ...search('a'), name: 'bash_code_execution' }, ran, text('2')]) as {
      events: Record<string, any>[];
    };
    events.at(-2)!.delta.container = { id: 'container_1', expires_at: '2030-01-01' };
    vendor.script({ events });
    const first = await ask({ hosted_tools: [code] });
    const transcript = [PROMPT, ...recorded(first), message({ step: 2, content: 'And?' })];
    events.at(-2)!.delta.container.id = 'container_2';
    vendor.script({ events });
    const second = await ask({ hosted_tools: [code], transcript });
    expect(vendor.requests.at(-1)!.container).toBe('container_1');
    await ask({ hosted_tools: [code], transcript: [...transcript, ...recorded(second), message({ step: 3, content: 'And?' })] });
    expect(vendor.requests.at(-1)!.container).toBe('container_2');
    await ask({ hosted_tools: [], transcript });
    expect(vendor.requests.at(-1)!.container).toBeUndefined();
  });

  it('returns no more than any other foreign input may hold', async () => {
    const large = { ...found('a'), content: 'x'.repeat(9 * 1_024 * 1_024) };
    vendor.script(messageAnswer([search('a'), large, text('Rain.')]));
    expect(await failure(ask())).toMatchObject({ code: 'model_answer_too_large', recoverable: false });
    const deep = { ...found('a'), content: JSON.parse(`${'['.repeat(1_500)}${']'.repeat(1_500)}`) };
    vendor.script(messageAnswer([search('a'), deep, text('Rain.')]));
    expect(await failure(ask())).toMatchObject({ code: 'model_answer_too_large', recoverable: false });
    vendor.script(messageAnswer([...Array.from({ length: 300 }, (_, at) => search(`${at}`)), text('Rain.')]));
    expect(await failure(ask())).toMatchObject({ code: 'tool_calls_too_many', recoverable: false });
    vendor.script(messageAnswer([search('a'), { ...found('a'), content: 'nul \0 here' }, text('Rain.')]));
    expect(JSON.stringify((await ask()).extra)).not.toContain('\\u0000');
  });
});

describe('an answer that the vendor pauses', () => {
  const FIRST = messageAnswer([text('Let me see. '), search('a'), found('a'), search('b')], { stop: 'pause_turn' });

  it('is continued, and is one answer that cost the sum', async () => {
    vendor.script(FIRST, messageAnswer([found('b'), cited('It rains.')], { usage: { cache_read_input_tokens: 5 } }));
    const whole = await ask();
    expect(whole).toMatchObject({ text: 'Let me see. It rains.', finish: 'stop' });
    expect(whole.streamed).toBe(whole.text);
    expect(whole.usage).toEqual({ total_in: 23, total_out: 8, cache_read: 5, cache_write: 0 });
    expect(vendor.requests).toHaveLength(2);
    expect(vendor.requests[1]!.messages.slice(1)).toEqual([
      { role: 'assistant', content: [text('Let me see. '), search('a'), found('a'), search('b')] },
    ]);
    expect({ ...vendor.requests[1], messages: [] }).toEqual({ ...vendor.requests[0], messages: [] });
    await ask({ transcript: [PROMPT, ...recorded(whole), message({ step: 2, content: 'And?' })] });
    expect(sentOf()).toEqual([text('Let me see. '), search('a'), found('a'), search('b'), found('b'), cited('It rains.')]);
    expect(vendor.refused()).toBe(0);
  });

  it('costs what was used when its second half fails', async () => {
    const half = { events: messageAnswer([found('b'), text('It')]).events.slice(0, 4) };
    vendor.script(FIRST, half);
    expect(await failure(ask())).toMatchObject({
      code: 'model_stream_cut',
      recoverable: true,
      answer: { model: 'answered', usage: { total_in: 18, total_out: 5 } },
    });
    await vendor.stop();
    vendor = await startCompatibleVendor((body, issued) =>
      body.messages.length > 1
        ? { status: 529, body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } }
        : vendors.anthropic(body, issued),
    );
    vendor.script(FIRST);
    expect(await failure(ask())).toMatchObject({ recoverable: true, answer: { usage: { total_in: 9, total_out: 4 } } });
  });

  it('again and again ends as a failure in words, with what it cost', async () => {
    vendor.script(...Array.from({ length: 20 }, () => messageAnswer([text('Hm. ')], { stop: 'pause_turn' })));
    const { code, recoverable, message: said, answer } = await failure(ask());
    expect({ code, recoverable, said }).toEqual({
      code: 'model_paused',
      recoverable: false,
      said: expect.stringContaining('max_uses'),
    });
    expect(vendor.requests).toHaveLength(8);
    expect(answer).toMatchObject({ usage: { total_in: 72, total_out: 32 } });
  });
});

it('a reply without such tools is kept as before', async () => {
  vendor.script(messageAnswer([text('Well.'), use], { stop: 'tool_use' }));
  expect((await ask({ hosted_tools: [], tools: [LOOK] })).extra).toBeNull();
  const blocks = [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, { type: 'text' }, { type: 'tool_use' }];
  const transcript = [
    PROMPT,
    ...recorded({ text: 'Well.', calls: [{ id: 'a', name: 'look', arguments: '{}' }], extra: { blocks } } as never),
  ];
  expect(messagesRequest(exchangeOf({ transcript, tools: [LOOK] }), 'm').messages[1]!.content).toMatchObject([
    ...[{ type: 'thinking' }, { type: 'text', text: 'Well.' }, { type: 'tool_use' }],
  ]);
});
