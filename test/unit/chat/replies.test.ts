import { afterEach, describe, expect, it, vi } from 'vitest';
import { type AskModel, chatReplies, MOST_KEPT } from '../../../src/chat/replies.ts';
import { recordParts } from '../../../src/chat/reply-record.ts';

type Event = Record<string, unknown>;
const USAGE = { prompt_tokens: 1, completion_tokens: 2 };
const USED = { prompt_tokens: 7, completion_tokens: 3, estimated: true };
const turn = (session_id = 's') => ({ agent: {}, caller: {}, session_id, question_id: 'q', message_id: 'm' }) as never;

/** What a reply in progress leaves in the record, and its notices; `parts` has the questions whose parts were removed, too. */
function partsRecord() {
  const parts: unknown[] = [];
  const notices: string[] = [];
  const store = {
    addParts: async (question_id: string, first: number, texts: string[]) => void parts.push([question_id, first, texts]),
    removeParts: async (ids: string[]) => void parts.push(...ids.map((id) => `- ${id}`)),
  };
  return { parts, notices, store, announce: (id: string) => void notices.push(id), listen: () => () => {} };
}

/** A chat whose store keeps what it is given, and whose model does what the test says. */
function chat(ask: AskModel, fault?: Error) {
  const stored: unknown[] = [];
  const { parts, notices, store: parts_store, announce, listen } = partsRecord();
  const store = {
    ...parts_store,
    stops: async (ids: string[]) => new Map(ids.map((id) => [id, 0])),
    messages: async (session_id: string) => [{ id: 'q', role: 'user', content: `to ${session_id}` }],
    isBehindAnother: async () => false,
    keepReplying: async () => {},
    endReplying: async () => {},
    answer: async (session_id: string, reply: unknown) => {
      if (fault) throw fault;
      stored.push([session_id, reply]);
    },
    message: async () => (stored.at(-1) as [string, { content: string }] | undefined)?.[1] ?? null,
  };
  return { stored, parts, notices, replies: chatReplies({ store: store as never, ask, announce, listen }) };
}

async function read(events: AsyncIterable<unknown>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event as Event);
  return all;
}

/** A model that writes a text and then waits until it is stopped. */
const waits =
  (text: string): AskModel =>
  (_turn, _history, { emit, reportUsage, signal }) => {
    if (text) emit(text);
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reportUsage(USED);
        reject(signal.reason as Error);
      });
    });
  };

describe('a chat reply', () => {
  it('streams what the model writes, then is stored under its id', async () => {
    const { replies, stored } = chat(async (_turn, history, { emit }) => {
      emit('Hel');
      emit('lo');
      return { text: `Hello\u0000 ${history[0]?.content}`, usage: USAGE };
    });
    expect(await read(replies.start(turn()))).toEqual([
      { type: 'session', session_id: 's' },
      { type: 'delta', content: 'Hel' },
      { type: 'delta', content: 'lo' },
      { type: 'done', usage: USAGE, message_id: 'm' },
    ]);
    expect(stored).toEqual([['s', { id: 'm', question_id: 'q', content: 'Hello\ufffd to s', usage: USAGE }]]);
  });

  it('is kept by the record, not in memory, for a reader that is far behind', async () => {
    const pieces = Array.from({ length: 10 }, (_, index) => `${index} `.padEnd(MOST_KEPT / 4, 'x'));
    const begun = Promise.withResolvers<void>();
    const { replies, stored } = chat(async (_turn, _history, { emit }) => {
      for (const piece of pieces) emit(piece);
      await begun.promise;
      return { text: pieces.join(''), usage: USAGE };
    });
    const events = replies.start(turn())[Symbol.asyncIterator]();
    const next = async () => (await events.next()).value;
    await next();
    expect((await next()).content === pieces[0]).toBe(true);
    begun.resolve();
    await replies.close(60_000);
    const rest = (await next()) as { load(): Promise<string> };
    expect((await rest.load()) === pieces.slice(1).join('')).toBe(true);
    // Its session was deleted.
    stored.length = 0;
    expect(await rest.load()).toBeNull();
    expect(await next()).toMatchObject({ type: 'done' });
    expect((await events.next()).done).toBe(true);
  });

  it('is stored even if nobody reads it', async () => {
    const { replies, stored } = chat(async () => ({ text: 'x', usage: USAGE }));
    replies.start(turn());
    await replies.close(60_000);
    expect(stored).toHaveLength(1);
  });

  it.each([
    ['the model', chat(() => Promise.reject(new Error('The provider failed')))],
    ['the store', chat(async () => ({ text: 'x', usage: USAGE }), new Error('The provider failed'))],
  ])('ends with the reason if %s failed', async (_, { replies, stored }) => {
    expect((await read(replies.start(turn()))).at(-1)).toEqual({ type: 'error', message: 'The provider failed' });
    expect(stored).toEqual([]);
  });

  it('that a person stops is stored as far as it came, and no other is stopped', async () => {
    const { replies, stored } = chat(waits('so far'));
    const mine = read(replies.start(turn('mine')));
    const other = read(replies.start(turn('other')));
    await new Promise(setImmediate);
    replies.stop('mine');
    expect((await mine).at(-1)).toEqual({ type: 'done', usage: USED, message_id: 'm' });
    expect(stored).toEqual([['mine', { id: 'm', question_id: 'q', content: 'so far', usage: USED }]]);
    replies.stop('other');
    await other;
    expect(stored).toHaveLength(2);
  });

  it('that a person stops before it began has a reason', async () => {
    const { replies, stored } = chat(waits(''));
    const events = read(replies.start(turn()));
    await new Promise(setImmediate);
    replies.stop('s');
    expect((await events).at(-1)).toEqual({ type: 'error', message: 'The reply was stopped before the model wrote anything' });
    expect(stored).toEqual([]);
  });

  it('is stopped when the service ends, after a grace period, and is not stored', async () => {
    const { replies, stored } = chat(waits('so far'));
    const events = read(replies.start(turn()));
    await replies.close(5);
    expect((await events).at(-1)).toEqual({ type: 'error', message: 'The service is being stopped' });
    expect(stored).toEqual([]);
  });

  it('that has ended is not stopped, and leaves nothing to wait for', async () => {
    const signals: AbortSignal[] = [];
    const { replies } = chat(async (_turn, _history, { signal }) => {
      signals.push(signal);
      return { text: 'x', usage: USAGE };
    });
    await read(replies.start(turn()));
    replies.stop('s');
    await replies.close(1);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });
});

describe('the parts of a reply', () => {
  afterEach(() => void vi.useRealTimers());

  it('are on record soon after the model sent them, the last ones before the reply is stored', async () => {
    vi.useFakeTimers();
    const more = Promise.withResolvers<void>();
    const { replies, parts, notices } = chat(async (_turn, _history, { emit }) => {
      emit('Hel');
      await more.promise;
      for (const part of ['lo', ' \u0000', '!']) emit(part);
      return { text: 'Hello \u0000!', usage: USAGE };
    });
    const whole = read(replies.start(turn()));
    await vi.advanceTimersByTimeAsync(0);
    expect([parts, notices]).toEqual([[['q', 1, ['Hel']]], ['s']]);
    more.resolve();
    await whole;
    expect([parts.slice(1), notices]).toEqual([[['q', 2, ['lo', ' \ufffd', '!']]], ['s', 's', 's']]);
    await replies.close(0);
    expect(parts.slice(2)).toEqual(['- q']);
  });

  it('that could not be written are written again, exactly, before later ones', async () => {
    const [written, faults]: [unknown[], Error[]] = [[], [new Error('The database is down')]];
    const record = recordParts(async (first, parts) => {
      written.push([first, ...parts]);
      const fault = faults.shift();
      if (fault) throw fault;
    });
    record.add('a');
    record.add('b');
    await record.end();
    record.add('c');
    await record.end();
    await record.end();
    expect(written).toEqual([
      [1, 'a', 'b'],
      [1, 'a', 'b'],
      [3, 'c'],
    ]);
  });
});

describe('a reply that another process knows of', () => {
  afterEach(() => void vi.useRealTimers());

  /** Replies of sessions whose stops are recorded here; a session without a number was deleted. */
  function recorded(ask: AskModel, stops: Record<string, number>, more: object = {}) {
    const [kept, stored]: [string[][], unknown[]] = [[], []];
    const { parts, store: parts_store, announce, listen } = partsRecord();
    const store = {
      ...parts_store,
      stops: async (ids: string[]) => new Map(ids.flatMap((id) => (id in stops ? [[id, stops[id] as number] as const] : []))),
      messages: async () => [
        { id: 'before', role: 'user', content: 'Hi' },
        { id: 'q', role: 'user', content: 'Talk' },
        { id: 'later', role: 'user', content: 'And?' },
      ],
      isBehindAnother: async () => false,
      keepReplying: async (ids: string[]) => void kept.push(ids),
      endReplying: async () => {},
      answer: async (session_id: string, { content }: { content: string }) => void stored.push([session_id, content]),
      ...more,
    };
    return { kept, stored, parts, replies: chatReplies({ store: store as never, ask, announce, listen }) };
  }

  it('is stopped within seconds by a stop that is recorded after it began, and not by one before', async () => {
    vi.useFakeTimers();
    const stops = { mine: 7, other: 3 };
    const { kept, stored, parts, replies } = recorded(waits('so far'), stops);
    const ended: string[] = [];
    for (const id of ['mine', 'other'] as const) void read(replies.start(turn(id))).then(() => ended.push(id));
    await vi.advanceTimersByTimeAsync(2_000);
    expect([ended, kept]).toEqual([[], [['q', 'q']]]);
    stops.mine = 8;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([ended, stored]).toEqual([['mine'], [['mine', 'so far']]]);
    replies.stop('other');
    await vi.advanceTimersByTimeAsync(0);
    expect(ended).toEqual(['mine', 'other']);
    // The parts of a reply are kept for a minute after its end; nothing else is left.
    await vi.advanceTimersByTimeAsync(57_999);
    expect(parts).not.toContain('- q');
    await vi.advanceTimersByTimeAsync(2_001);
    expect([parts.slice(2), vi.getTimerCount()]).toEqual([['- q', '- q'], 0]);
  });

  it('ends with its session, and is not stored', async () => {
    vi.useFakeTimers();
    const stops: Record<string, number> = { gone: 1 };
    const { stored, replies } = recorded(waits('so far'), stops);
    const events = read(replies.start(turn('gone')));
    await vi.advanceTimersByTimeAsync(0);
    delete stops.gone;
    await vi.advanceTimersByTimeAsync(2_000);
    expect([(await events).at(-1), stored]).toEqual([{ type: 'error', message: 'The chat session was deleted' }, []]);
  });

  it('waits for the earlier one of its session, and is given the messages up to its question', async () => {
    vi.useFakeTimers();
    let behind = true;
    const asked: unknown[] = [];
    const ask: AskModel = async (_turn, history) => {
      asked.push(history.map(({ content }) => content));
      return { text: 'x', usage: USAGE };
    };
    const { replies } = recorded(ask, { s: 0 }, { isBehindAnother: async () => behind });
    const events = read(replies.start(turn()));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toEqual([]);
    behind = false;
    await vi.advanceTimersByTimeAsync(250);
    expect([(await events).at(-1)?.type, asked]).toEqual(['done', [['Hi', 'Talk']]]);
  });

  it('that fails lets the next one begin, and one that was cut at the output limit is marked', async () => {
    const ended: string[] = [];
    const failing = recorded(
      async () => Promise.reject(new Error('no')),
      { s: 0 },
      {
        endReplying: async (id: string) => void ended.push(id),
      },
    );
    await read(failing.replies.start(turn()));
    expect(ended).toEqual(['q']);
    const cut = recorded(async () => ({ text: 'x', usage: USAGE, truncated: true }), { s: 0 });
    expect((await read(cut.replies.start(turn()))).at(-1)).toEqual({
      type: 'done',
      usage: USAGE,
      message_id: 'm',
      truncated: true,
    });
  });
});
