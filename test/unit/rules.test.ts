import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../src/domain/arguments.ts';
import { type CallDecision, decideMove, type LedgerEntry } from '../../src/domain/effects.ts';
import { parseResponse } from '../../src/domain/json-answers.ts';
import { parseTodos, toProgress } from '../../src/domain/progress.ts';
import { formatReminder, storable } from '../../src/domain/transcript.ts';
import { calculateCost, toUsage } from '../../src/domain/usage.ts';
import { findModelPrice, getPrices } from '../../src/runtimes/prices.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';

const KEY_A = `a:${Buffer.alloc(32, 1).toString('base64')}`;
const KEY_B = `b:${Buffer.alloc(32, 2).toString('base64')}`;

describe('the rule of tool effects', () => {
  const entry = (more: Partial<LedgerEntry>): LedgerEntry => ({
    status: 'planned',
    effect: 'write',
    approval: false,
    attempts: 0,
    restored: false,
    decision: null,
    ...more,
  });
  const said = (decision: CallDecision['decision']) => ({ decision });

  it.each([
    ['a planned call is run', {}, 'run'],
    ['one that is done is left alone', { status: 'done', attempts: 1 }, 'nothing'],
    ['one that was denied is left alone', { status: 'denied' }, 'nothing'],
    ['one that needs approval waits', { approval: true }, 'ask_approval'],
    ['an approved one is run', { status: 'waiting_approval', approval: true, decision: said('approve') }, 'run'],
    ['a denied approval is settled', { status: 'waiting_approval', approval: true, decision: said('deny') }, 'settle'],
    ['a begun read is run again', { status: 'started', attempts: 1, effect: 'read' }, 'run'],
    ['a begun idempotent call is run again', { status: 'started', attempts: 1, effect: 'idempotent' }, 'run'],
    ['a begun write is not', { status: 'started', attempts: 1 }, 'ask_reconciliation'],
    ['a write that has asked a person is not', { status: 'waiting_answer', attempts: 1 }, 'ask_reconciliation'],
    ['an approved write that was begun is not', { status: 'started', attempts: 1, approval: true }, 'ask_reconciliation'],
    ['a write to be retried is run', { status: 'waiting_reconciliation', attempts: 1, decision: said('retry') }, 'run'],
    ['a write said to be done is settled', { status: 'waiting_reconciliation', attempts: 1, decision: said('done') }, 'settle'],
    ['a write whose source was out of reach is run', { status: 'planned', attempts: 1 }, 'run'],
    ['a planned write of a restored run is not', { restored: true }, 'ask_reconciliation'],
    ['nor is one that was begun before', { restored: true, status: 'planned', attempts: 1 }, 'ask_reconciliation'],
    ['a read of a restored run is run', { restored: true, effect: 'read' }, 'run'],
    ['and so is an idempotent call', { restored: true, effect: 'idempotent', status: 'started', attempts: 1 }, 'run'],
    ['a write of a restored run is approved first', { restored: true, approval: true }, 'ask_approval'],
    [
      'and asked about when it is approved',
      { restored: true, status: 'waiting_approval', approval: true, decision: said('approve') },
      'ask_reconciliation',
    ],
    ['is not approved again', { restored: true, status: 'waiting_reconciliation', approval: true }, 'ask_reconciliation'],
    [
      'and is run when it is to be retried',
      { restored: true, status: 'waiting_reconciliation', approval: true, decision: said('retry') },
      'run',
    ],
    ['one of a restored run that is done is left alone', { restored: true, status: 'done' }, 'nothing'],
  ] as [string, Partial<LedgerEntry>, string][])('%s', (_what, more, move) => {
    expect(decideMove(entry(more))).toBe(move);
  });
});

describe('the transcript', () => {
  it('parses JSON, fenced or not, and wraps other text', () => {
    expect(parseResponse('[1, 2]', 'json')).toEqual([1, 2]);
    expect(parseResponse('```json\n{"a": 1}\n```', 'json')).toEqual({ a: 1 });
    expect(parseResponse('so', 'json')).toEqual({ response: 'so' });
    expect(parseResponse('{"a": 1}', 'markdown')).toBe('{"a": 1}');
  });

  it('quotes at most 300 characters of the goal, whole ones', () => {
    const reminder = formatReminder('😀'.repeat(400));
    expect([...reminder].filter((character) => character === '😀')).toHaveLength(300);
    expect(reminder.isWellFormed()).toBe(true);
  });

  it('holds no text that the database cannot', () => {
    expect(storable('a\u0000b\ud800c')).toBe('a\uFFFDb\uFFFDc');
  });
});

describe('arguments of a call', () => {
  it.each([
    ['', { arguments: {} }],
    ['{"a": 1}', { arguments: { a: 1 } }],
  ])('%j are read', (text, read) => expect(parseArguments(text)).toEqual(read));

  it.each(['[1]', '"x"', '{"a":'])('%j are refused with a reason', (text) => {
    expect(parseArguments(text)).toEqual({ refusal: expect.stringMatching(/JSON/) });
  });
});

describe('progress', () => {
  it('reads completed as done, and rejects values that are not a list of items', () => {
    expect(parseTodos([{ title: 'a', status: 'completed' }])).toEqual([{ id: '1', title: 'a', status: 'done' }]);
    for (const wrong of [null, {}, [{ status: 'done' }], [{ title: 'a', status: 'soon' }]]) expect(parseTodos(wrong)).toBeNull();
  });

  it('rounds to a whole per cent', () => {
    const todos = ['done', 'done', 'in-progress'].map((status, index) => ({ id: String(index), title: `t${index}`, status }));
    expect(toProgress(todos)).toMatchObject({ percent_complete: 67, current_step: 't2' });
    expect(toProgress([]).percent_complete).toBe(0);
  });
});

describe('cost', () => {
  const usage = { total_in: 1_000_000, total_out: 500_000, cache_read: 400_000, cache_write: 0 };

  it('counts cached input at its own price', () => {
    expect(calculateCost(usage, ['m'], { m: { input: 2, output: 8, cache_read: 0.5 } })).toBeCloseTo(
      0.6 * 2 + 0.4 * 0.5 + 0.5 * 8,
    );
  });

  it('takes the price for any model where the table names none, and nothing where there is no price', () => {
    expect(calculateCost(usage, ['x'], { '*': { input: 1, output: 0 } })).toBeCloseTo(1);
    expect(calculateCost(usage, ['x'], { m: { input: 1, output: 1 } })).toBe(0);
  });

  it('takes the price of the model that was asked for if the answer has a longer name without one', () => {
    const table = { m: { input: 3, output: 0 }, '*': { input: 1, output: 0 } };
    const spent = (model: string | null, prices: object) =>
      toUsage({ model, usage }, { asked: 'm', prices: prices as never }).cost;
    expect(spent('m-2024-08-06', table)).toBeCloseTo(3);
    expect(spent('m-2024-08-06', { ...table, 'm-2024-08-06': { input: 2, output: 0 } })).toBeCloseTo(2);
    expect(spent(null, table)).toBeCloseTo(3);
    expect(spent('toString', { '*': { input: 1, output: 0 } })).toBeCloseTo(1);
  });
});

describe('the key ring', () => {
  it('seals with the first key, opens with any, and only in the place a value was sealed for', () => {
    const old = keyRing(KEY_A).seal('secret', 'here');
    const ring = keyRing(`${KEY_B},${KEY_A}`);
    expect(ring.open(old, 'here')).toBe('secret');
    expect(ring.seal('secret', 'here').key_id).toBe('b');
    expect(() => ring.open(old, 'there')).toThrow();
    expect(() => keyRing(KEY_B).open(old, 'here')).toThrow(/ENCRYPTION_KEYS/);
  });

  it('refuses keys of another length', () => {
    expect(() => keyRing('a:c2hvcnQ=')).toThrow(/32 bytes/);
  });
});

it('takes the vendor’s own prices for a provider that is the vendor and has no table', () => {
  const vendor = { provider_type: 'openai', base_url: null, price_table: {} } as const;
  expect(getPrices(vendor)['gpt-4o']).toMatchObject({ input: expect.any(Number), output: expect.any(Number) });
  expect(getPrices(vendor)).not.toHaveProperty('claude-opus-4-20250514');
  expect(getPrices({ ...vendor, base_url: 'https://gateway.example/v1' })).toEqual({});
  const own = { '*': { input: 1, output: 2 } };
  expect(getPrices({ ...vendor, price_table: own })).toBe(own);
  const one = { 'gpt-4o': { input: 17, output: 19 } };
  expect(getPrices({ ...vendor, price_table: one })['gpt-4o']).toEqual({ input: 17, output: 19 });
  expect(getPrices({ ...vendor, price_table: one })['gpt-4.1']).toEqual(getPrices(vendor)['gpt-4.1']);
  expect(findModelPrice({ ...vendor, price_table: one }, 'gpt-4o')).toMatchObject({ price_source: 'provider' });
  expect(findModelPrice({ ...vendor, price_table: one }, 'gpt-4.1')).toMatchObject({ price_source: 'catalogue' });
  expect(findModelPrice({ ...vendor, price_table: own }, 'gpt-4.1')).toEqual({ price: own['*'], price_source: 'provider' });
  expect(findModelPrice({ ...vendor, price_table: one }, 'gpt-4')).not.toBeNull();
  expect(findModelPrice({ ...vendor, price_table: one }, 'gpt-4-of-tomorrow')).toBeNull();
  expect(findModelPrice({ ...vendor, base_url: 'https://gateway.example/v1' }, 'gpt-4o')).toBeNull();
  expect(findModelPrice(null, 'gpt-4o')).toBeNull();
});
