import { afterEach, expect, it, vi } from 'vitest';
import { followReply } from '../../../src/chat/reply-record.ts';
import type { ReplyState } from '../../../src/store/resources/chat.ts';

const usage = { prompt_tokens: 3, completion_tokens: 5 };
const DONE = { type: 'done', usage, message_id: 'm' };
const SESSION = { id: 1, event: { type: 'session', session_id: 's' } };
const delta = (id: number, content: string) => ({ id, event: { type: 'delta', content } });

afterEach(() => void vi.useRealTimers());

/** A record of a reply. `change` adds parts or ends it, and rings unless the notice is lost. */
function createRecord() {
  const batches: { first: number; parts: string[] }[] = [];
  let state: Omit<ReplyState, 'deltas'> | null = { writing: true, answer: null, error: null };
  let content = '';
  const wakes = new Set<() => void>();
  const store = {
    readReply: async (_: string, next: number) =>
      state && { ...state, deltas: batches.filter(({ first }) => first >= next).map(({ parts }) => ({ parts })) },
    message: async () => ({ content }) as never,
  };
  const change = (work: () => void, { is_lost = false } = {}) => {
    work();
    if (!is_lost) for (const wake of wakes) wake();
  };
  return {
    wakes,
    add: (...parts: string[]) =>
      change(() => void batches.push({ first: batches.flatMap((batch) => batch.parts).length + 1, parts })),
    answer: (text: string, { keeps_parts = true, is_lost = false } = {}) =>
      change(
        () => {
          content = text;
          state = { writing: false, answer: { id: 'm', usage, truncated: false, characters: [...text].length }, error: null };
          if (!keeps_parts) batches.length = 0;
        },
        { is_lost },
      ),
    fail: (error: string) =>
      change(() => {
        state = { writing: false, answer: null, error };
      }),
    remove: () =>
      change(() => {
        state = null;
      }),
    follow(seen = 0, signal = new AbortController().signal) {
      const listen = (_: string, wake: () => void) => {
        wakes.add(wake);
        return () => wakes.delete(wake);
      };
      const events = followReply({ store, listen }, { session_id: 's', question_id: 'q', seen }, signal);
      const got: any[] = [];
      const whole = (async () => {
        for await (const { id, event } of events)
          got.push({ id, event: 'load' in event ? { type: 'delta', content: await event.load() } : event });
        return got;
      })();
      return { got, whole };
    },
  };
}

it('has what is on record first and then what comes, numbered as by the request that sent the message', async () => {
  const record = createRecord();
  record.add('a', 'b');
  const { got, whole } = record.follow();
  await vi.waitFor(() => expect(got).toEqual([SESSION, delta(3, 'ab')]));
  record.add('c');
  await vi.waitFor(() => expect(got.slice(2)).toEqual([delta(4, 'c')]));
  record.answer('abc');
  expect((await whole).slice(3)).toEqual([{ id: 5, event: DONE }]);
  expect(record.wakes.size).toBe(0);
});

it.each([
  [1, [delta(4, 'abc'), delta(5, 'd')]],
  [2, [delta(4, 'bc'), delta(5, 'd')]],
  [3, [delta(4, 'c'), delta(5, 'd')]],
  [4, [delta(5, 'd')]],
  [5, []],
])('continues after event %i, also within parts that were written together', async (seen, rest) => {
  const record = createRecord();
  record.add('a', 'b', 'c');
  record.add('d');
  record.answer('abcd');
  expect(await record.follow(seen).whole).toEqual([...rest, { id: 6, event: DONE }]);
});

it('has the rest of the text from the stored reply if its parts are gone, cut between the characters', async () => {
  const record = createRecord();
  record.add('a🚀');
  const { got, whole } = record.follow();
  await vi.waitFor(() => expect(got).toHaveLength(2));
  record.answer('a🚀b', { keeps_parts: false });
  expect((await whole).slice(2)).toEqual([delta(3, 'b'), { id: 4, event: DONE }]);
});

it.each([
  ['fails', 'The model failed', (record: ReturnType<typeof createRecord>) => record.fail('The model failed')],
  ['loses its session', 'The chat session was deleted', (record: ReturnType<typeof createRecord>) => record.remove()],
])('ends with an error if the reply %s', async (_, message, end) => {
  const record = createRecord();
  record.add('a');
  const { got, whole } = record.follow();
  await vi.waitFor(() => expect(got).toHaveLength(2));
  end(record);
  expect((await whole).slice(2)).toEqual([{ id: 3, event: { type: 'error', message } }]);
});

it('sees within seconds what no notice reported, and ends with its reader', async () => {
  vi.useFakeTimers();
  const record = createRecord();
  const leaving = new AbortController();
  const [first, second] = [record.follow(), record.follow(0, leaving.signal)];
  await vi.advanceTimersByTimeAsync(0);
  leaving.abort();
  await second.whole;
  expect(record.wakes.size).toBe(1);
  record.answer('', { is_lost: true });
  await vi.advanceTimersByTimeAsync(2_000);
  expect([await first.whole, vi.getTimerCount()]).toEqual([[SESSION, { id: 2, event: DONE }], 0]);
});
