import { describe, expect, it } from 'vitest';
import { ModelFailure } from '../../../src/domain/model-failure.ts';
import type { ExchangeOrder } from '../../../src/domain/run-loop.ts';
import { deltaPublishers } from '../../../src/events/publisher.ts';
import type { Exchange, ModelReply } from '../../../src/runtimes/runtime.ts';
import { exchangeStep } from '../../../src/temporal/activities/exchange/index.ts';
import { toProviderCallEvents } from '../../../src/temporal/activities/made-there.ts';
import { listSettingEvents, listStartEvents } from '../../../src/temporal/activities/offered.ts';
import { reserve } from '../../../src/temporal/activities/reserve.ts';
import { failureOf } from '../../support/runs/in-activity.ts';

const NO_USAGE = { total_in: 0, total_out: 0, cache_read: 0, cache_write: 0 };
const RUN = {
  ...{ task_id: 't', workflow_id: 'w', owner: 'ann', owner_login: 'ann', prompt: 'Go.', attachments: null, status: 'running' },
  ...{ halt_requested: false, definition_hash: 'h', cursor: null, toolset: null, turns: 2, budget: null, seconds: 0, cost: 0 },
  ...{
    attempts: 0,
    errors: 0,
    recorded: false,
    follows: true,
    unended: [],
    defined: true,
    named_window: null,
    messages: [],
    waiting_messages: [],
  },
  ...{ thread_turn: null, earlier: [] },
  ...{ calls: [], ...NO_USAGE },
};
const DEFINITION = {
  ...{ agent: { id: 'a', name: 'agent', system_prompt: 'Be brief.' }, workflow: { id: 'w', title: null }, model: 'm', tools: [] },
  ...{ provider: null, skills: [], webhooks: {}, repository: null, budget: null },
  settings: { max_turns: 5, infinite_session: false, bypass_memory: true, output_format: 'text', caveman: false },
};
const ORDER: ExchangeOrder = { step: 1, turns: 0, denied: [], tools_off: false, remind: false } as unknown as ExchangeOrder;
const REPLY = { text: 'Hello.', calls: [], finish: 'stop', model: 'm', usage: NO_USAGE, extra: null } as ModelReply;

interface World {
  run?: object | null;
  /** The run as it is read again. */
  later?: object;
  definition?: object;
  order?: object;
  reply?: Partial<ModelReply>;
  failure?: Error;
  judged?: object;
  tools?: { name: string }[];
  /** What the record answers to the reply. */
  takes?: (boolean | 'text_differs')[];
  notes?: boolean;
  prices?: object;
  open?: () => Promise<{ commit: string | null }>;
  passages?: string[];
  files?: { name: string; media_type: string; content: Buffer }[];
}

/** Runs one exchange on a record that is an object; returns its outcome and what was written. */
async function exchange({ run = {}, later = {}, definition = {}, order = {}, tools = [], takes = [true], ...world }: World) {
  const events: { event?: string; detail?: string }[] = [];
  const asked: Exchange[] = [];
  const records: any[] = [];
  const behind: string[] = [];
  const write = (more: { data: object }[]) => void events.push(...more.map(({ data }) => data));
  let [reads, number] = [0, 0];
  const ports = {
    runs: {
      open: async () => (reads++ === 0 ? run && { ...RUN, ...run } : { ...RUN, ...run, ...later }),
      async begin(_: unknown, { events: more }: { events: { data: object }[] }) {
        write(more);
        return ++number;
      },
      async publishDeltas(_: unknown, { events: more }: { events: { data: object }[] }) {
        write(more);
        return ++number;
      },
      publishText: async () => ++number,
      async record(_: unknown, entry: { events: { data: object }[] }) {
        records.push(entry);
        const taken = takes.shift();
        if (taken === true) write(entry.events);
        return taken;
      },
      compact: async () => true,
      async wait(_: unknown, { events: more }: { events: { data: object }[] }) {
        write(more);
        return true;
      },
      async noteError(_: unknown, note: { events: { data: object }[] }) {
        write(note.events);
        return world.notes ?? true;
      },
    },
    caps: { release: async () => {} },
    countFallback() {},
    definition: async () => ({
      ...DEFINITION,
      ...definition,
      settings: { ...DEFINITION.settings, ...(definition as any).settings },
    }),
    parkBehind: async (_: unknown, missing: string) => void behind.push(missing),
    giveBack: () => {},
    admit: async () => 0,
    loadFiles: async () => world.files ?? [],
    openRuntime: async () => ({
      ...{ prices: world.prices ?? {}, custom_tools: true },
      runtime: {
        async exchange(input: Exchange, emit: (delta: string) => void) {
          asked.push(input);
          if (world.failure) throw world.failure;
          const reply = { ...REPLY, ...world.reply };
          emit(reply.text);
          return { reply, cursor: null };
        },
      },
    }),
    listTools: async () => ({
      list: async () => tools.map((tool) => ({ ...tool, description: '', parameters: {}, effect: 'read' })),
    }),
    publisher: deltaPublishers(),
    workspaces: { open: world.open },
    judge: async (_: unknown, text: string) => ({ findings: [], text, ...world.judged }),
    listOutputErrors: async () => [],
    holdsBack: () => false,
    findContextWindow: () => ({ tokens: 10_000, from: 'default' }),
    keepWindow: async () => {},
    file_takers: new Map(),
    recall: async () => [],
    lookUp: async () => ({
      warnings: [],
      items: (world.passages ?? []).map((text, at) => ({
        item_id: `${at}`,
        name: 'notes',
        position: at,
        score: 1,
        text,
        content: text,
      })),
    }),
    longest_wait_ms: 60_000,
    default_model: null,
    now: () => 'now',
  };
  const stepping = exchangeStep(ports as never, ['t', { ...ORDER, ...order }], new AbortController().signal);
  const outcome: any = await stepping.catch((error: Error) => error);
  return { outcome, events, asked, records, behind, find: (wanted: string) => events.find(({ event }) => event === wanted) };
}

describe('an exchange', () => {
  it('is recorded with its text', async () => {
    const { outcome, records } = await exchange({});
    expect(outcome).toEqual([]);
    expect(records[0]).toMatchObject({ messages: [{ role: 'assistant', kind: 'reply', content: 'Hello.' }] });
  });

  it('is not begun once the run is to halt', async () => {
    const { outcome, asked } = await exchange({ run: { halt_requested: true } });
    expect([outcome.type, asked]).toEqual(['Halted', []]);
  });

  it('takes a file that a tool returned as text, but is none, for an empty one', async () => {
    const files = [{ name: 'a.csv', media_type: 'text/csv', content: Buffer.from([0xe9, 0x3b]) }];
    const { asked } = await exchange({ run: { attachments: [{ id: 'f', ...files[0] }] }, files });
    expect(asked[0]?.transcript.find(({ kind }) => kind === 'prompt')?.content).toMatch(/^Go\.\n\n.*a\.csv/);
  });

  it('gives the model an image with its prompt', async () => {
    const files = [{ name: 'cat.png', media_type: 'image/png', content: Buffer.from('cat-37') }];
    const { asked } = await exchange({ run: { attachments: [{ id: 'f', ...files[0] }] }, files });
    const data = Buffer.from('cat-37').toString('base64');
    expect(asked[0]?.transcript).toMatchObject([{ content: 'Go.', files: [{ name: 'cat.png', media_type: 'image/png', data }] }]);
  });

  it('whose model refuses a file of an earlier turn reports that it is asked again without it', async () => {
    const files = [{ name: 'cat.png', media_type: 'image/png', content: Buffer.from('cat-41') }];
    const prompt = { step: 0, position: 0, role: 'user', kind: 'prompt', tool_calls: null, call_id: null, extra: null };
    const attachments = [{ id: 'f', size: 43, ...files[0] }];
    const earlier = [{ ...prompt, turn: 1, content: 'Look.', attachments, provider_id: null, model: null }];
    const messages = [{ ...prompt, content: 'And?' }];
    const failure = new ModelFailure('no images', { code: 'model_error', status: 400, recoverable: false });
    const { asked, find } = await exchange({ run: { messages, thread_turn: 2, earlier }, files, failure });
    expect(asked.map(({ transcript }) => transcript[0]!.content)).toEqual(['Look.', 'Look.\n\n[cat.png is not shown]']);
    expect(find('retry')?.detail).toBe(
      'The model did not take the files of earlier turns and of tools; it is asked again without them',
    );
  });

  it('waits, and asks nobody, if dollars are limited and nobody knows what its model costs', async () => {
    const budget = { max_cost_usd: 29, max_tokens: null, max_seconds: null, on_exhausted: 'wait' };
    const { outcome, asked, records, find } = await exchange({ definition: { budget } });
    expect([outcome, asked, records]).toEqual(['waiting', [], []]);
    expect(find('unpriced_model')).toMatchObject({ model: 'm', provider: null, on_exhausted: 'wait' });
  });

  it('waits if a model without a price has answered for it, and wrote only the summary', async () => {
    const round = { role: 'assistant', kind: 'reply', content: 'abc '.repeat(500), tool_calls: null, call_id: null, extra: null };
    const messages = Array.from({ length: 20 }, (_, index) => ({ ...round, step: index + 1, position: 0 }));
    const budget = { max_cost_usd: 29, max_tokens: null, max_seconds: null, on_exhausted: 'wait' };
    const answer = async (model: string) =>
      exchange({
        ...{ run: { messages }, order: { step: 21 }, prices: { m: { input: 3, output: 5 } } },
        ...{ definition: { budget, settings: { infinite_session: true } } },
        reply: { model, usage: { ...NO_USAGE, total_in: 1_009, total_out: 211 } },
      });
    const { outcome, asked, find } = await answer('other');
    expect([outcome, asked.map(({ transcript }) => transcript.length)]).toEqual(['waiting', [1]]);
    expect(find('unpriced_model')).toMatchObject({ model: 'other', on_exhausted: 'wait' });
    const priced = await answer('m');
    expect([priced.outcome, priced.asked.length, priced.find('unpriced_model')]).toEqual([[], 2, undefined]);
  });

  it('waits if the record lacks the step before it', async () => {
    const { outcome, behind } = await exchange({ run: { follows: false }, order: { step: 4 } });
    expect([outcome, behind]).toEqual(['behind', ['step 3']]);
  });

  it.each([true, false])('that fails is tried again; the record takes the failure: %s', async (notes) => {
    const failure = new ModelFailure('no answer', { code: 'model_error', recoverable: true });
    const { outcome } = await exchange({ failure, notes });
    expect(outcome.type).toBe(notes ? 'model_error' : 'stale_attempt');
  });

  it('that goes to another provider loses the tools that the first one runs', async () => {
    const provider = { id: 'p', name: 'Vendor', provider_type: 'anthropic_messages', default_model: 'm', base_url: null };
    const other = { ...provider, id: 'p2', name: 'Office', provider_type: 'openai_compatible', base_url: 'http://127.0.0.1:9' };
    const spent = new ModelFailure('spent', { code: 'quota_exhausted', recoverable: false });
    const leave = (to: object, tools: object[]) =>
      exchange({ failure: spent, definition: { provider, tools, fallbacks: [{ on: ['quota'], model: 'spare', provider: to }] } });
    const search = { kind: 'hosted', tool: { type: 'web_search_20250305', name: 'web_search' } };
    const reason = 'the provider Vendor runs them, which is not asked';
    const left = await leave(other, [search]);
    expect(left.find('tools_not_offered')).toMatchObject({ detail: `web_search: ${reason}`, tools: ['web_search'], reason });
    expect(left.find('fallback')).toMatchObject({ from: { provider: 'Vendor' }, to: { provider: 'Office', model: 'spare' } });
    expect((await leave({ ...provider, id: 'p3' }, [search])).events.map(({ event }) => event)).not.toContain(
      'tools_not_offered',
    );
    expect((await leave(other, [])).events.map(({ event }) => event)).not.toContain('tools_not_offered');
  });

  it.each([
    [true, 'the rest cannot be compacted'],
    [false, 'infinite_session is off'],
  ])('that is too long for the model says what to do, with infinite_session %s', async (infinite_session, words) => {
    const failure = new ModelFailure('too long', { code: 'context_window_full', recoverable: false });
    const { outcome } = await exchange({ failure, definition: { settings: { infinite_session } } });
    expect(outcome).toMatchObject({ type: 'context_window_full', message: `too long; ${words}` });
  });

  it('of which the client forces a call is sent only its tools', async () => {
    const tools = [{ name: 'look' }, { name: 'see' }];
    const forced = await exchange({ tools, definition: { forced_tools: ['see'] } });
    expect(forced.asked[0]).toMatchObject({ tools: [{ name: 'see' }], must_call: true });
    expect((await exchange({ tools })).asked[0]).not.toHaveProperty('must_call');
  });

  it.each([
    [['one'], '1 passage of notes'],
    [['one', 'two'], '2 passages of notes'],
    [[], 'nothing found'],
  ])('begins with what was found: %j', async (passages, words) => {
    const { find } = await exchange({ passages, definition: { knowledge_source_ids: ['k'] } });
    expect(find('knowledge_loaded')?.detail).toBe(words);
  });

  it('shows the beginning of long thinking, and keeps the whole of it', async () => {
    const reasoning = 'x'.repeat(16_001);
    const { events, records } = await exchange({ reply: { reasoning } });
    const shown = events.map((event) => (event as { reasoning?: string }).reasoning).find((text) => text !== undefined);
    expect(shown).toBe(`${'x'.repeat(16_000)} […]`);
    expect(records[0].messages[0].extra).toEqual({ reasoning });
  });

  it('whose text a guardrail withholds ends the run', async () => {
    const findings = [{ guardrail: 'polite', action: 'block', reasons: ['rude'] }];
    const { outcome } = await exchange({ judged: { text: null, findings } });
    expect(outcome).toMatchObject({
      ...{ type: 'guardrail_blocked', message: "The guardrail polite withheld the model's answer: rude" },
    });
  });

  it.each<[string, (boolean | 'text_differs')[], object, number, unknown]>([
    ['is given up if another attempt has the step', [false], {}, 1, 'stale_attempt'],
    ['has ended if an earlier try has written it', [false], { recorded: true }, 1, undefined],
    ['is written with its whole text if a restored record has another one', ['text_differs', true], {}, 2, undefined],
    ['is given up if the record does not take that, either', ['text_differs', false], {}, 2, 'stale_attempt'],
  ])('%s', async (_, takes, later, count, type) => {
    const { outcome, records, find } = await exchange({ takes: [...takes], later });
    expect([records.length, outcome.type]).toEqual([count, type]);
    expect(find('attempt_reset') !== undefined).toBe(takes[0] === 'text_differs' && takes[1] === true);
  });
});

describe('the repository of a run', () => {
  const definition = { repository: { url: 'https://git.test/r', branch: 'main' } };

  it.each([
    ['c0ffee', { event: 'repo_synced', detail: 'https://git.test/r', branch: 'main', commit: 'c0ffee' }],
    [null, undefined],
  ])('is reported if this attempt has fetched it: %s', async (commit, event) => {
    const { outcome, find } = await exchange({ definition, open: async () => ({ commit }) });
    expect([outcome, find('repo_synced')]).toEqual([[], event]);
  });

  it('that cannot be fetched ends the run', async () => {
    const { outcome } = await exchange({ definition, open: () => Promise.reject(new Error('no such branch')) });
    expect(outcome).toMatchObject({ type: 'repository_failed', nonRetryable: true, message: 'no such branch' });
  });

  it('is fetched again if the disk is full', async () => {
    const full = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
    const { outcome, find } = await exchange({ definition, open: () => Promise.reject(full) });
    expect(outcome).toMatchObject({ code: 'disk_full' });
    expect(find('retry')?.detail).toContain('The disk is full');
  });
});

it('the tools of servers at the vendor are counted apart', () => {
  const start = { ports: { now: () => 'now', default_model: null }, run: { task_id: 't' }, definition: DEFINITION } as never;
  const detailOf = (mcp_server_ids: string[]) => {
    const selected = { custom_tools: true, vendor_tools: { builtins: ['bash'], mcp_server_ids } };
    return (listStartEvents(start, { offered: [], selected })[0] as { data: { detail: string } }).data.detail;
  };
  expect(detailOf([])).toBe('0 skills, 1 tools');
  expect(detailOf(['one', 'two'])).toBe('0 skills, 1 tools, and those of 2 MCP servers at the vendor');
});

it('a setting that no endpoint is known to take is named as left out, also for a model without a name', () => {
  const start = (more: object) => {
    const definition = { ...DEFINITION, settings: { ...DEFINITION.settings, verbosity: 'low' }, ...more };
    return { ports: { now: () => 'now', default_model: null }, run: { task_id: 't' }, definition } as never;
  };
  const listReasons = (more: object) => listSettingEvents(start(more)).map(({ data }) => (data as { detail: string }).detail);
  const reason = (of: string) => `verbosity: this endpoint is not known to take it for ${of}; set it to null`;
  expect([listReasons({ model: null }), listReasons({})]).toEqual([[reason('its model')], [reason('m')]]);
});

it('a call at the vendor without a result has no event of one', () => {
  const log = ((event: string) => event) as never;
  const call = { id: 'c', name: 'search', arguments: '{}' };
  expect(toProviderCallEvents({ ...call, result: null }, log)).toEqual(['tool_call']);
  expect(toProviderCallEvents({ ...call, result: { content: 'x', failed: false } }, log)).toEqual(['tool_call', 'tool_result']);
});

describe('a call that exceeds the budget', () => {
  const spend = (on_exhausted: 'wait' | 'halt', taken: boolean) =>
    reserve({
      ports: { runs: { wait: async () => taken }, now: () => 'now' },
      run: { ...RUN, cost: 9 },
      definition: { ...DEFINITION, budget: { max_cost_usd: 5, max_tokens: null, max_seconds: null, on_exhausted } },
      ...{ selected: { prices: {} }, tokens: 10, step: 2 },
    } as never);

  it('waits for a higher one, or ends the run', async () => {
    expect(await spend('wait', true)).toBe('waiting');
    expect(await failureOf(spend('halt', true))).toMatchObject({ nonRetryable: true, message: expect.stringContaining('5') });
  });

  it('is given up if another attempt has the step', async () => {
    expect(await failureOf(spend('wait', false))).toMatchObject({ type: 'stale_attempt' });
  });
});
