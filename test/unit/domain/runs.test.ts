import { describe, expect, it } from 'vitest';
import {
  type Cadence,
  findNextDue,
  type Interval,
  listDueTimes,
  parseStoredCadence,
  toEngineInterval,
} from '../../../src/domain/cadence.ts';
import { splitIntoChunks } from '../../../src/domain/chunks.ts';
import { isVendor, mergeExchangeLimits } from '../../../src/domain/definition.ts';
import { type CallDecision, decideMove, type LedgerEntry } from '../../../src/domain/effects.ts';
import { type ForkEffects, forkAnswer, rebuildLoopState } from '../../../src/domain/fork.ts';
import { START } from '../../../src/domain/run-loop.ts';
import { isTerminal, TASK_STATUSES } from '../../../src/domain/statuses.ts';
import { createTaskEvents } from '../../../src/events/task-events.ts';

const AT = Date.UTC(2026, 0, 31, 12);
const MINUTE = 60_000;

describe('a cadence', () => {
  const every = (more: Partial<Cadence & Interval>): Cadence & Interval => ({
    ...{ interval_value: 2, interval_unit: 'minutes', start_at: AT, end_at: null },
    ...more,
  });

  it.each([
    ['minutes', 2 * MINUTE],
    ['hours', 120 * MINUTE],
    ['days', 48 * 60 * MINUTE],
    ['weeks', 14 * 24 * 60 * MINUTE],
  ] as const)('in %s is due at its start and at each interval after it', (interval_unit, ms) => {
    const cadence = every({ interval_unit });
    expect([AT - 1, AT, AT + 1, AT + ms - 1, AT + ms].map((time) => findNextDue(cadence, time))).toEqual([
      ...[AT, AT + ms, AT + ms, AT + ms, AT + 2 * ms],
    ]);
    expect(toEngineInterval(cadence)).toEqual({ every: ms, offset: AT % ms });
  });

  it('counts in whole seconds', () => {
    const cadence = every({ start_at: AT + 999 });
    expect(findNextDue(cadence, 0)).toBe(AT);
    expect(toEngineInterval(every({ start_at: AT + 1_999 })).offset).toBe((AT + 1_000) % (2 * MINUTE));
  });

  it('ends with its end, which is still one of its times', () => {
    const cadence = every({ end_at: AT + 2 * MINUTE });
    expect([AT, AT + MINUTE, AT + 2 * MINUTE].map((time) => findNextDue(cadence, time))).toEqual([
      ...[AT + 2 * MINUTE, AT + 2 * MINUTE, null],
    ]);
  });

  it('lists what was due, oldest first, at most so many', () => {
    const due = (after: number, until: number, limit: number) =>
      listDueTimes(every({}), { after: AT + after * MINUTE, until: AT + until * MINUTE, limit }).map(
        (time) => (time - AT) / MINUTE,
      );
    expect(due(0, 6, 9)).toEqual([2, 4, 6]);
    expect(due(-1, 5, 9)).toEqual([0, 2, 4]);
    expect(due(0, 20, 2)).toEqual([18, 20]);
    expect(due(0, 21, 2)).toEqual([18, 20]);
    expect(due(6, 6, 9)).toEqual([]);
  });

  it('is read from its row', () => {
    const span = { start_at: new Date(AT), end_at: new Date(AT + 1) };
    const row = { interval_value: 3, interval_unit: 'days', cron: null, time_zone: 'UTC', ...span };
    expect(parseStoredCadence(row)).toEqual({ interval_value: 3, interval_unit: 'days', start_at: AT, end_at: AT + 1 });
    expect(parseStoredCadence({ ...row, end_at: null }).end_at).toBeNull();
    const by_cron = { cron: '@daily', time_zone: 'Asia/Kolkata' };
    expect(parseStoredCadence({ ...row, ...by_cron })).toEqual({ ...by_cron, start_at: AT, end_at: AT + 1 });
  });
});

describe('a chunk', () => {
  const word = (letter: string, length: number) => letter.repeat(length);

  it.each([
    ['nothing', '  \n ', []],
    ['a short text, trimmed, with plain line breaks', ' a\r\nb ', ['a\nb']],
    ['a text of the largest size', word('x', 1_200), [word('x', 1_200)]],
  ])('of %s', (_, text, chunks) => {
    expect(splitIntoChunks(text)).toEqual(chunks);
  });

  it.each([
    ['a paragraph', '\n\n', ' \n. '],
    ['a line', '\n', ' . '],
    ['a sentence', '. ', ' x '],
    ['a word', ' ', 'xxx'],
  ])('ends with %s before anything smaller', (_, mark, smaller) => {
    const text = `${word('a', 700)}${mark}${word('b', 100)}${smaller}${word('c', 900)}`;
    expect(splitIntoChunks(text)[0]).toBe(`${word('a', 700)}${mark}`.trim());
  });

  it('does not end in its first half', () => {
    const text = (before: number) => `${word('a', before)} ${word('b', 2_000)}`;
    expect(splitIntoChunks(text(600))[0]).toHaveLength(1_200);
    expect(splitIntoChunks(text(601))[0]).toBe(word('a', 601));
  });

  it('begins with a whole word of the end of the one before it', () => {
    const words = Array.from({ length: 400 }, (_, index) => `w${index}`).join(' ');
    const [first = '', second = ''] = splitIntoChunks(words);
    const shared = second.slice(0, second.indexOf(first.slice(-4)) + 4);
    expect(first.endsWith(shared)).toBe(true);
    expect(shared.length).toBeGreaterThan(140);
    expect(shared.length).toBeLessThanOrEqual(150);
    expect(words).toContain(` ${shared} `);
  });

  it('begins within a word that is longer than what is repeated', () => {
    const [first, second] = splitIntoChunks(word('x', 1_300));
    expect([first?.length, second?.length]).toEqual([1_200, 250]);
  });

  it('never holds half a character', () => {
    for (const before of ['', 'x']) {
      const chunks = splitIntoChunks(`${before}${'😀'.repeat(1_500)}`);
      for (const chunk of chunks) expect(chunk.isWellFormed()).toBe(true);
      expect(chunks[0]?.length).toBeGreaterThanOrEqual(1_199);
    }
  });
});

describe('what a run is pinned with', () => {
  it('is limited by the workflow, else by the provider', () => {
    const limits = (model_total_seconds: number | null, model_silence_seconds: number | null) => ({
      model_total_seconds,
      model_silence_seconds,
    });
    expect(mergeExchangeLimits(limits(1, 2), limits(3, 4))).toEqual(limits(1, 2));
    expect(mergeExchangeLimits(limits(null, 2), limits(3, 4))).toEqual(limits(3, 2));
    expect(mergeExchangeLimits(null, limits(null, 4))).toEqual(limits(null, 4));
    expect(mergeExchangeLimits(limits(1, null), null)).toEqual(limits(1, null));
    expect(mergeExchangeLimits(null, null)).toBeUndefined();
    expect(mergeExchangeLimits(limits(null, null), limits(null, null))).toBeUndefined();
  });

  it('is the vendor itself only without another address', () => {
    expect(isVendor({ provider_type: 'anthropic', base_url: null })).toBe(true);
    expect(isVendor({ provider_type: 'anthropic', base_url: 'https://x.example' })).toBe(false);
    expect(isVendor({ provider_type: 'openai', base_url: null })).toBe(false);
  });
});

describe('the rule of tool effects', () => {
  const STATUSES = ['planned', 'started', 'done', 'denied', 'waiting_approval', 'waiting_reconciliation'] as const;
  const DECISIONS = [null, 'approve', 'deny', 'retry', 'done', 'fail'] as const;
  const entries = STATUSES.flatMap((status) =>
    (['read', 'idempotent', 'write'] as const).flatMap((effect) =>
      [false, true].flatMap((approval) =>
        [0, 1].flatMap((attempts) =>
          DECISIONS.map((decision) => ({ status, effect, approval, attempts, decision: decision && { decision } })),
        ),
      ),
    ),
  ) as (LedgerEntry & { decision: CallDecision | null })[];
  const moves = (some: (entry: LedgerEntry) => boolean) => [...new Set(entries.filter(some).map(decideMove))].sort();
  const said = ({ decision }: LedgerEntry, ...which: string[]) => decision !== null && which.includes(decision.decision);
  const ended = ({ status }: LedgerEntry) => status === 'done' || status === 'denied';
  const lost = ({ status }: LedgerEntry) => status === 'started' || status === 'waiting_reconciliation';

  it('touches no call that has ended', () => {
    expect(moves(ended)).toEqual(['nothing']);
    expect(moves((entry) => !ended(entry))).not.toContain('nothing');
  });
  it('settles what a person denied or said to be done', () => {
    expect(moves((entry) => !ended(entry) && said(entry, 'deny', 'done', 'fail'))).toEqual(['settle']);
    expect(moves((entry) => !said(entry, 'deny', 'done', 'fail'))).not.toContain('settle');
  });
  it('asks for approval before the first attempt only', () => {
    const first = (entry: LedgerEntry) =>
      entry.approval && entry.attempts === 0 && !ended(entry) && entry.status !== 'waiting_reconciliation';
    expect(moves((entry) => first(entry) && !said(entry, 'approve', 'deny', 'done', 'fail'))).toEqual(['ask_approval']);
    expect(moves((entry) => !first(entry) || said(entry, 'approve'))).not.toContain('ask_approval');
  });
  it('asks before it repeats a write that was begun', () => {
    const risky = (entry: LedgerEntry) => lost(entry) && entry.effect === 'write' && !entry.approval;
    expect(moves((entry) => risky(entry) && !said(entry, 'retry', 'deny', 'done', 'fail'))).toEqual(['ask_reconciliation']);
    expect(moves((entry) => risky(entry) && said(entry, 'retry'))).toEqual(['run']);
    expect(moves((entry) => !lost(entry) || entry.effect !== 'write')).not.toContain('ask_reconciliation');
  });
});

describe('an event', () => {
  const event = () => createTaskEvents('t', () => 'now');

  it.each([
    ['log', { event: 'completed', detail: 'b' }, () => event().log('completed', 'b')],
    ['log', { event: 'model_call', detail: 'b', step: 1 }, () => event().log('model_call', 'b', { step: 1 })],
    ['message', { role: 'user', content: 'x', step: 1 }, () => event().message('user', 'x', { step: 1 })],
    ['message', { role: 'user', content: 'x' }, () => event().message('user', 'x')],
    ['message_delta', { delta: 'd' }, () => event().delta('d')],
    ['status', { status: 'running', current_turn: 3, task_id: 't' }, () => event().status('running', 3)],
    [
      'status',
      { status: 'failed', current_turn: 3, task_id: 't', error: 'e' },
      () => event().status('failed', 3, { error: 'e' }),
    ],
    [
      'usage',
      {
        ...{ total_in: 1, total_out: 2, cost: 3, cache_read: 4, cache_write: 5, premium_requests: 6 },
        ...{ total_input_tokens: 1, total_output_tokens: 2, total_cost: 3, total_premium_requests: 6 },
      },
      () => event().usage({ total_in: 1, total_out: 2, cost: 3, cache_read: 4, cache_write: 5, premium_requests: 6 }),
    ],
  ])('of the type %s has %j, and the time', (type, data, make) => {
    expect(make()).toEqual({ type, data, timestamp: 'now' });
  });

  it('ends a run with one of three statuses', () => {
    expect(TASK_STATUSES.filter(isTerminal)).toEqual(['completed', 'failed', 'halted']);
    expect(TASK_STATUSES).toEqual(['pending', 'running', 'waiting', 'completed', 'failed', 'halted']);
  });
});

describe('a fork', () => {
  const recorded = (name: string, args: string, content: string, failed = false) => ({ name, arguments: args, content, failed });
  const call = (name: string, args: string, effect: 'read' | 'write' | 'idempotent' = 'write') => ({
    name,
    arguments: args,
    effect,
  });
  const records = (
    effects: ForkEffects,
    list: ReturnType<typeof recorded>[] = [],
    earlier: { name: string; arguments: string }[] = [],
  ) => ({
    ...{ effects, recorded: list, earlier },
  });
  const list = [
    recorded('add', '{"a":1,"b":2}', 'one'),
    recorded('sub', '{}', 'other'),
    recorded('add', '{"b":2,"a":1}', 'two', true),
  ];
  const one = { content: 'one', failed: false, answered_by: 'recorded' };
  const two = { content: 'two', failed: true, answered_by: 'recorded' };
  const add = { name: 'add', arguments: ' {"a": 1, "b": 2}' };

  it.each([
    ['live calls are executed', call('add', '{"a":1,"b":2}'), records('live', list), null],
    ['a call of equal arguments gets its result', call('add', '{"b":2, "a":1}'), records('recorded', list), one],
    ['the second gets the second', call('add', '{"a":1,"b":2}'), records('recorded', list, [add]), two],
    ['further ones get the last', call('add', '{"a":1,"b":2}'), records('recorded', list, [add, add, add]), two],
    ['other calls do not count', call('add', '{"a":1,"b":2}'), records('stub', list, [{ name: 'sub', arguments: '{}' }]), one],
    [
      'arguments that are not JSON are compared as they are',
      call('x', 'no'),
      records('recorded', [recorded('x', 'no', 'r')]),
      { ...one, content: 'r' },
    ],
    ['and differ from others that are not JSON', call('x', 'no', 'read'), records('recorded', [recorded('x', 'non', 'r')]), null],
    ['another tool has another result', call('mul', '{"a":1,"b":2}', 'read'), records('recorded', list), null],
    ['other arguments have another result', call('add', '{"a":2,"b":2}', 'idempotent'), records('recorded', list), null],
    [
      'a write without a record is refused',
      call('mul', '{}'),
      records('recorded', list),
      {
        content:
          'Not called: mul changes things outside, and the run that this one was forked from has no result on record for these arguments.',
        ...{ failed: true, answered_by: 'refused' },
      },
    ],
    [
      'a stub stands in for every other call',
      call('mul', '{}', 'read'),
      records('stub', list),
      {
        content:
          'Stub: mul was not called. No tool is called in this fork, and its source has no result on record for these arguments.',
        ...{ failed: false, answered_by: 'stub' },
      },
    ],
  ])('%s', (_, asked, with_, answer) => {
    expect(forkAnswer(asked, with_)).toEqual(answer);
  });

  it('begins with the state that the loop had before its step', async () => {
    const calls = (...ids: string[]) => ids.map((call_id) => ({ call_id, name: 'x' }));
    const steps: Record<number, ReturnType<typeof calls>> = { 1: calls('a', 'b'), 2: calls('c', 'd'), 3: calls('e') };
    const stateAt = (step: number, max_turns = 3) =>
      rebuildLoopState(step, { max_turns }, (at) => ({ calls: steps[at] ?? [], rejected: false }));
    expect(await stateAt(0)).toEqual(START);
    expect(await stateAt(1)).toEqual(START);
    expect(await stateAt(2)).toEqual({ step: 2, turns: 2, denied: [], denied_rounds: 0 });
    expect(await stateAt(3)).toEqual({ step: 3, turns: 3, denied: ['d'], denied_rounds: 1 });
    expect(await stateAt(4)).toEqual({ step: 4, turns: 3, denied: ['e'], denied_rounds: 2 });
  });
});
