import { describe, expect, it } from 'vitest';
import { MEDIA_TOKENS } from '../../src/domain/attachments.ts';
import { transcriptSize } from '../../src/domain/compaction.ts';
import type { FileTakers } from '../../src/domain/result-files.ts';
import type { TranscriptMessage } from '../../src/domain/transcript.ts';
import type { Exchange } from '../../src/runtimes/runtime.ts';
import { fitTranscript, isRoomy, readNamedWindow, refitTranscript } from '../../src/temporal/activities/fit.ts';

const WINDOW = 10_000;
const usage = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0, cost: 0 };

const message = (values: Partial<TranscriptMessage>): TranscriptMessage => ({
  ...{ step: 0, position: 0, role: 'user', kind: 'prompt', content: 'Do it.', tool_calls: null, call_id: null, extra: null },
  ...values,
});

/** Text of about so many tokens. */
const tokens = (count: number) => 'abc '.repeat(count);
const rounds = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    message({ step: index + 1, role: 'assistant', kind: 'reply', content: tokens(500) }),
  );

interface World {
  instructions?: string;
  settings?: object;
  keeps_context?: boolean;
  tools?: object[];
  attachments?: object[];
  /** False: another attempt has the step. */
  compacts?: boolean;
  spent?: object;
}

/** Fits messages; also returns what was asked of the model and written. */
async function fitMessages(
  messages: TranscriptMessage[],
  { instructions = '', settings, keeps_context = false, tools = [], attachments, compacts = true, spent }: World = {},
) {
  const asked: any[] = [];
  const entries: any[] = [];
  const answer = { total_in: 1_009, total_out: 211, cache_read: 307, cache_write: 53 };
  const exchange = async (input: object) => {
    asked.push(input);
    return { reply: { text: 'Notes.', calls: [], finish: 'stop', usage: answer, model: 'by' } };
  };
  const compact = async (_: unknown, entry: object) => {
    entries.push(entry);
    return compacts;
  };
  const work = {
    ports: {
      runs: { compact },
      caps: { release: async () => {} },
      findContextWindow: () => ({ tokens: WINDOW, from: 'provider' }),
      file_takers: new Map(),
      now: () => 'now',
    },
    run: { task_id: 't', attachments: attachments ?? null, thread_turn: null, earlier: [], messages: [], ...usage, ...spent },
    definition: { model: 'm', settings: { infinite_session: true, tsv_tool_results: false, caveman: false, ...settings } },
    step: messages.length,
    selected: { keeps_context, runtime: { exchange }, prices: { by: { input: 1_000_000, output: 0 } } },
    instructions,
    tools,
  };
  const fitted = await fitTranscript(work as never, messages, new AbortController().signal).catch((error: Error) => error);
  return { fitted: fitted as any, asked, entries };
}

describe('a transcript that fills most of its window', () => {
  it('is compacted, and then leaves most of the window, whatever the instructions take', async () => {
    for (const fixed_tokens of [10, 1_000, 2_000, 3_000]) {
      const { fitted } = await fitMessages([message({}), ...rounds(20)], { instructions: tokens(fixed_tokens) });
      const summaries = fitted.transcript.filter(({ kind }: TranscriptMessage) => kind === 'summary');
      expect(summaries, `${fixed_tokens}`).toHaveLength(1);
      expect(fitted.tokens, `${fixed_tokens}`).toBeLessThan(WINDOW * 0.5);
    }
  });

  it('stays whole up to four fifths of the window', async () => {
    // Each round takes 504 tokens; the prompt, 6.
    const { fitted, asked } = await fitMessages([message({}), ...rounds(15)]);
    expect([asked.length, fitted.transcript.length]).toEqual([0, 16]);
    expect(fitted.tokens).toBe(15 * 504 + 6);
    expect((await fitMessages([message({}), ...rounds(16)])).asked).toHaveLength(1);
  });

  it.each<[string, World]>([
    ['instructions', { instructions: tokens(500) }],
    ['tools', { tools: [{ name: 'look', description: tokens(500) }] }],
    ['files', { attachments: [{ media_type: 'text/plain', size: 2_000 }] }],
    ['an image', { attachments: [{ media_type: 'image/png', size: 10 }] }],
  ])('is filled by %s, too', async (_, world) => {
    expect((await fitMessages([message({}), ...rounds(15)], world)).asked).toHaveLength(1);
  });

  it('is summarised by the same model, which is shown what is older and offered no tools', async () => {
    const { asked, entries, fitted } = await fitMessages([message({}), ...rounds(20)], { spent: { total_in: 5_003, cost: 3 } });
    expect(asked).toMatchObject([{ task_id: 't', model: 'm', tools: [], wants_json: false, cursor: null }]);
    expect(asked[0].transcript).toHaveLength(1);
    const kept = fitted.transcript.filter(({ kind }: TranscriptMessage) => kind === 'reply').length;
    const up_to_step = 20 - kept;
    const answered = { total_in: 1_009, total_out: 211, cache_read: 307, cache_write: 53, cost: 1_009 };
    expect(entries).toMatchObject([
      { step: 21, message: { kind: 'summary', step: up_to_step, content: expect.stringContaining('Notes.') }, usage: answered },
    ]);
    expect(entries[0].events).toMatchObject([
      { data: { event: 'compaction', messages: up_to_step, up_to_step, step: 21 } },
      { type: 'usage', data: { total_in: 6_012, cost: 1_012 } },
    ]);
    expect(fitted.run).toMatchObject({ total_in: 6_012, total_out: 211, cost: 1_012 });
  });

  it('stays whole up to the window if nearly all of it is instructions, as every step would pay for a summary', async () => {
    const world = { instructions: tokens(8_100) };
    expect((await fitMessages([message({}), ...rounds(3)], world)).asked).toEqual([]);
    expect((await fitMessages([message({}), ...rounds(4)], world)).asked).toHaveLength(1);
    expect((await fitMessages([message({}), ...rounds(8)], { instructions: tokens(6_500) })).asked).toHaveLength(1);
  });

  it('keeps what the run was asked, and what it was given to know', async () => {
    const { fitted } = await fitMessages([
      message({ position: -2, role: 'system', kind: 'context', content: 'Known.' }),
      message({}),
      ...rounds(20),
    ]);
    expect(fitted.transcript.slice(0, 3).map(({ kind }: TranscriptMessage) => kind)).toEqual(['context', 'prompt', 'summary']);
  });

  it('keeps fewer rounds if the prompt came with files', async () => {
    const keptWith = async (attachments: object[]) => {
      const { fitted } = await fitMessages([message({}), ...rounds(20)], { attachments });
      return [fitted.transcript.filter(({ kind }: TranscriptMessage) => kind === 'reply').length, fitted.tokens];
    };
    // Each round takes 504 tokens; the prompt and the summary, 6 and 21.
    expect(await keptWith([])).toEqual([7, 7 * 504 + 27]);
    expect(await keptWith([{ media_type: 'text/plain', size: 4 * 1_009 }])).toEqual([5, 5 * 504 + 27 + 1_009]);
  });

  it('of several turns keeps what the last one was asked, and may lose a whole turn before it', async () => {
    const kindsOf = (messages: TranscriptMessage[]) => messages.map(({ turn, kind }) => `${turn} ${kind}`);
    const turn = (number: number, count: number) => [message({}), ...rounds(count)].map((one) => ({ ...one, turn: number }));
    const spent = { thread_turn: 2 };
    const { fitted, entries } = await fitMessages([...turn(1, 13), ...turn(2, 5)], { spent });
    expect(kindsOf(fitted.transcript)).toEqual([
      ...['1 prompt', '1 summary', '1 reply', '1 reply', '2 prompt'],
      ...Array.from({ length: 5 }, () => '2 reply'),
    ]);
    expect(entries[0]).toMatchObject({
      // It stands in the turn before, and is kept with the run that made it.
      message: { kind: 'summary', step: 0, position: 200_000, extra: { turn: 1, step: 11, position: 200_000 } },
      events: [{ data: { messages: 11 } }, {}],
    });
    const whole = await fitMessages([...turn(1, 17), ...turn(2, 7)], { spent });
    expect(kindsOf(whole.fitted.transcript)).toEqual(['2 summary', '2 prompt', ...Array.from({ length: 7 }, () => '2 reply')]);
    expect(whole.entries[0]).toMatchObject({
      message: { turn: 2, step: 0, position: -3 },
      events: [{ data: { messages: 18 } }, {}],
    });
  });

  it('counts the files of an earlier turn among what stays of it', async () => {
    const turn = (number: number, count: number) => [message({}), ...rounds(count)].map((one) => ({ ...one, turn: number }));
    const placeWith = async (size: number) => {
      const earlier = [{ turn: 1, attachments: [{ media_type: 'text/plain', size }] }];
      const { entries } = await fitMessages([...turn(1, 13), ...turn(2, 5)], { spent: { thread_turn: 2, earlier } });
      const { turn: of, step } = entries[0].message.extra ?? entries[0].message;
      return [of, step];
    };
    // Of 4,000 tokens, 5 rounds take 2,520, and a round of the first turn and its prompt 510 more.
    expect(await placeWith(4 * 970)).toEqual([1, 12]);
    expect(await placeWith(4 * 971)).toEqual([2, 0]);
  });

  it('is left to another attempt that has taken over', async () => {
    expect((await fitMessages([message({}), ...rounds(20)], { compacts: false })).fitted).toMatchObject({
      type: 'stale_attempt',
    });
  });
});

describe('a transcript that does not fit', () => {
  it.each<[string, TranscriptMessage[], World, RegExp]>([
    [
      'if it may not be compacted',
      [message({}), ...rounds(20)],
      { settings: { infinite_session: false } },
      /infinite_session is off/,
    ],
    ['if one message is too long', [message({ content: tokens(10_000) })], {}, /the rest cannot be compacted/],
    ['if the instructions are too long', [message({})], { instructions: tokens(10_000) }, /the rest cannot be compacted/],
  ])('fails the run %s', async (_, messages, world, words) => {
    const { fitted } = await fitMessages(messages, world);
    expect(fitted).toMatchObject({ code: 'context_window_full', recoverable: false, message: expect.stringMatching(words) });
    expect(fitted.message).toContain(`of ${WINDOW} tokens`);
  });

  it('is still sent if it is exactly as long as the window, or if the vendor keeps it', async () => {
    // With its message, the prompt takes four tokens more.
    const just = await fitMessages([message({ content: tokens(WINDOW - 4) })], { settings: { infinite_session: false } });
    expect(just.fitted.tokens).toBe(WINDOW);
    const kept = await fitMessages([message({}), ...rounds(40)], { keeps_context: true, settings: { infinite_session: false } });
    expect([kept.asked.length, kept.fitted.transcript.length]).toEqual([0, 41]);
  });
});

describe('a message is shortened', () => {
  const table = '[{"name":"Ada","age":36},{"name":"Grace","age":85},{"name":"Mary","age":78}]';
  const messages = [
    message({ position: -2, role: 'system', kind: 'context', content: 'Please remember the name.' }),
    message({ content: 'Please read the list.' }),
    message({ step: 1, role: 'assistant', kind: 'reply', content: table }),
    message({ step: 1, position: 1, role: 'tool', kind: 'result', content: table }),
    message({ step: 1, position: 2, role: 'tool', kind: 'denial', content: table }),
  ];
  const contents = async (settings: object) =>
    (await fitMessages(messages, { settings })).fitted.transcript.map(({ content }: TranscriptMessage) => content);
  const [context, prompt, reply, , denial] = messages.map(({ content }) => content);

  it('if it is the result of a tool, with tsv_tool_results', async () => {
    const tsv = 'name\tage\nAda\t36\nGrace\t85\nMary\t78';
    expect(await contents({ tsv_tool_results: true })).toEqual([context, prompt, reply, tsv, denial]);
  });

  it('if it is context, with caveman', async () => {
    expect(await contents({ caveman: true })).toEqual(['remember name.', prompt, reply, table, denial]);
  });

  it('with neither, not at all', async () => {
    expect(await contents({})).toEqual(messages.map(({ content }) => content));
  });
});

it('images of tools take no room of a run whose model does not take them', async () => {
  const files = [{ id: 'i', name: 'a.png', media_type: 'image/png', size: 9, sha256: '' }];
  const shot = message({ step: 1, role: 'tool', kind: 'result', call_id: '1-1', extra: { files } });
  const tokens = async (file_takers: FileTakers) => {
    const ports = { findContextWindow: () => ({ tokens: WINDOW, from: 'provider' }), file_takers };
    const settings = { infinite_session: true, tsv_tool_results: false, caveman: false };
    const work = {
      ports,
      run: { task_id: 't', attachments: null },
      definition: { settings },
      selected: {},
      instructions: '',
      tools: [],
    };
    return (await fitTranscript(work as never, [message({}), shot], new AbortController().signal)).tokens;
  };
  expect((await tokens(new Map())) - (await tokens(new Map([['t', 'none']])))).toBe(MEDIA_TOKENS);
});

describe('a transcript that the endpoint refused', () => {
  async function refit(named: number | undefined, infinite_session = true) {
    const asked: Exchange[] = [];
    const reply = { text: 'Notes.', calls: [], finish: 'stop', usage, model: 'm' };
    const exchange = async (input: Exchange) => {
      asked.push(input);
      return { reply };
    };
    const work = {
      ports: {
        runs: { compact: async () => true },
        caps: { release: async () => {} },
        file_takers: new Map(),
        findContextWindow: () => ({ tokens: 128_000, from: 'default' }),
        now: () => 'now',
      },
      run: { task_id: 't', attachments: null, ...usage },
      definition: { model: 'm', settings: { infinite_session, tsv_tool_results: false, caveman: false } },
      step: 21,
      selected: { keeps_context: false, runtime: { exchange }, prices: {} },
      instructions: 'Be brief.',
      tools: [],
    } as never;
    const { signal } = new AbortController();
    const refused = await fitTranscript(work, [message({}), ...rounds(20)], signal);
    expect(asked).toEqual([]);
    return { refused, fit: await refitTranscript(work, refused, { named, signal }), asked };
  }

  it.each([undefined, 100_000, 4_096])(
    'is compacted for a window of %s tokens, and so is the request for its summary',
    async (named) => {
      const { refused, fit, asked } = await refit(named);
      const window = Math.min(named ?? refused.tokens, refused.tokens);
      expect(fit?.tokens).toBeLessThan(window / 2);
      expect(transcriptSize(asked[0]!.transcript)).toBeLessThan(window / 2);
    },
  );

  it('stays as it is without infinite_session', async () => {
    expect(await refit(4_096, false)).toMatchObject({ fit: null, asked: [] });
  });
});

describe('the size that a refusal names', () => {
  it.each<[number, number | undefined, number | undefined]>([
    [128_000, 2_000, undefined],
    [128_000, 8_192, 8_192],
    [128_000, 131_072, 131_072],
    [128_000, undefined, undefined],
  ])('for a request of %s tokens is read as %s: %s', (tokens, named, read) => {
    expect(readNamedWindow(named, { tokens })).toBe(read);
  });

  it.each<[number, number | undefined, boolean]>([
    [10_000, 60_001, true],
    // A text in Chinese has several times as many tokens as its estimate.
    [10_000, 60_000, false],
    [2_800, 8_192, false],
    [10_000, 4_096, false],
    [10_000, undefined, false],
  ])('leaves room for a request of %s tokens if it is %s: %s', (tokens, named, is_roomy) => {
    expect(isRoomy(named, { tokens })).toBe(is_roomy);
  });
});
