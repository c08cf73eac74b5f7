import { describe, expect, it } from 'vitest';
import type { Definition } from '../../../src/domain/definition.ts';
import {
  applyFallback,
  findNext,
  findReturn,
  findUnusable,
  formatPlace,
  getPosition,
  leaveOutForeign,
  type RunFallback,
  sumFailures,
} from '../../../src/domain/fallback.ts';
import { FALLBACK_REASONS, type FallbackReason, findReason } from '../../../src/domain/fallback-reasons.ts';
import { ADVICE } from '../../../src/runtimes/failures.ts';

const provider = (id: string, more: object = {}) => ({
  ...{ id, name: `name of ${id}`, provider_type: 'openai', base_url: null, default_model: `model of ${id}` },
  ...more,
});
const definition = (on: FallbackReason[][], more: object = {}) =>
  ({
    ...{
      provider: provider('own'),
      model: 'first',
      tools: [
        { kind: 'custom', name: 'pay' },
        { kind: 'builtin', name: 'read' },
      ],
    },
    fallbacks: on.map((reasons, index) => ({ on: reasons, model: null, provider: provider(`p${index + 1}`) })),
    ...more,
  }) as unknown as Definition;
const begin = (step: number) => ({ step, attempts: 0 });
const at = (position: number, more: Partial<RunFallback> = {}): RunFallback => ({
  ...{ position, step: 2, reason: 'quota', failures: [], seconds: 0, answered: {} },
  ...more,
});
const failed = (position: number, reason: FallbackReason | null = 'quota') => ({
  position,
  reason,
  code: 'c',
  message: `said ${position}`,
});

describe('the reason of a failure', () => {
  it.each([
    ['model_unreachable', true, 'unreachable'],
    ['model_deadline', false, 'unreachable'],
    ['model_error', true, 'overloaded'],
    ['model_error', false, null],
    ['model_loading', true, 'overloaded'],
    ['rate_limited', true, 'rate_limited'],
    ['quota_exhausted', false, 'quota'],
    ['unknown_model', false, 'deprecated'],
    ['content_filter', false, 'content_filter'],
    ['context_window_full', false, 'context_too_long'],
    ['model_unauthorized', false, null],
    ['empty_answer', false, null],
    ['egress_denied', false, null],
  ] as const)('%s (recoverable: %s) is %s', (code, recoverable, reason) => {
    expect(findReason({ code, recoverable })).toBe(reason);
  });

  it('is known for each refusal that has advice, apart from a refused key', () => {
    const reasons = Object.keys(ADVICE).map((code) => findReason({ code, recoverable: false }));
    expect(reasons.filter((reason) => reason === null)).toHaveLength(1);
    expect(reasons.filter((reason) => reason !== null).every((reason) => FALLBACK_REASONS.includes(reason))).toBe(true);
  });
});

describe('the model that a step asks', () => {
  it('is the run’s own until it has left it, and then the fallback for its rest', () => {
    const pinned = definition([['quota']]);
    expect([getPosition(pinned, null, begin(7)), getPosition(pinned, at(1, { seconds: 86_400 }), begin(7))]).toEqual([0, 1]);
  });

  it('is the own one again once the minutes are over, but never at the step of the switch', () => {
    const pinned = definition([['quota']], { fallback_minutes: 3 });
    const asked = [179, 180, 181].map((seconds) => getPosition(pinned, at(1, { seconds }), begin(3)));
    expect(asked).toEqual([1, 0, 0]);
    expect(getPosition(pinned, at(1, { seconds: 181 }), begin(2))).toBe(1);
  });

  it('is the same at all attempts of a step, although the minutes are over meanwhile', () => {
    const pinned = definition([['quota']], { fallback_minutes: 3 });
    const asked = [0, 1, 2].map((attempts) => getPosition(pinned, at(1, { seconds: 181 }), { step: 3, attempts }));
    expect(asked).toEqual([0, 1, 1]);
    expect(findReturn(at(1), 1, 3)).toBeNull();
    const returned = findReturn(at(1), 0, 3);
    expect(returned).toEqual({ position: 0, step: 3, reason: 'quota', failures: [] });
    expect(getPosition(pinned, at(0, { ...returned, seconds: 1 }), { step: 3, attempts: 1 })).toBe(0);
    const briefly = definition([['quota']], { fallback_minutes: 0 });
    expect(getPosition(briefly, at(1), begin(3))).toBe(0);
  });

  it('is never a session again that another model has left behind', () => {
    const session = provider('own', { provider_type: 'anthropic' });
    const pinned = definition([['quota']], { fallback_minutes: 0, provider: session });
    expect(getPosition(pinned, at(1, { seconds: 60 }), begin(3))).toBe(1);
  });

  it('has its own provider, model and limits; the rest of the definition stays', () => {
    const limits = { model_total_seconds: 31, model_silence_seconds: null };
    const pinned = definition([['quota'], ['quota']], { exchange_limits: { ...limits, model_total_seconds: 37 } });
    Object.assign(pinned.fallbacks![1]!, { model: 'named', exchange_limits: limits });
    expect(applyFallback(pinned, 0)).toBe(pinned);
    expect(applyFallback(pinned, 1)).toMatchObject({ model: 'model of p1', provider: { id: 'p1' } });
    expect(applyFallback(pinned, 1)).not.toHaveProperty('exchange_limits');
    expect(applyFallback(pinned, 2)).toMatchObject({ model: 'named', provider: { id: 'p2' }, exchange_limits: limits });
    expect(applyFallback(pinned, 2).tools).toEqual(pinned.tools);
    const same_provider = { ...pinned, fallbacks: [{ on: ['quota'], model: 'smaller' }] } as Definition;
    expect(applyFallback(same_provider, 1)).toMatchObject({ model: 'smaller', provider: { id: 'own' } });
  });

  it('has no custom tools if the run began with the default runtime, which had none', () => {
    const pinned = definition([['quota']], { provider: null });
    expect(applyFallback(pinned, 1).tools).toEqual([{ kind: 'builtin', name: 'read' }]);
    expect(formatPlace(pinned, 0)).toBe('first of the default runtime');
  });

  it('cannot be a provider that is missing, or one that keeps conversations', () => {
    const pinned = definition([['quota'], ['quota'], ['quota']]);
    Object.assign(pinned.fallbacks![0]!, { missing: 'gone' });
    Object.assign(pinned.fallbacks![1]!, { provider: provider('p2', { provider_type: 'anthropic' }) });
    expect([0, 1, 2, 3].map((position) => findUnusable(pinned, position))).toEqual([
      null,
      'No provider with id gone',
      expect.stringContaining('name of p2 keeps conversations'),
      null,
    ]);
  });
});

describe('the next model after a failure', () => {
  const next = (
    pinned: Definition,
    position: number,
    reason: FallbackReason | null,
    state: RunFallback | null = null,
    step = 2,
  ) => findNext(pinned, { position, at: state, step, failure: { code: 'c', message: `said ${position}`, reason } });

  it('is the first of the list that names the reason', () => {
    const pinned = definition([['overloaded'], ['quota', 'deprecated'], ['quota']]);
    expect(next(pinned, 0, 'quota')).toEqual({ position: 2, step: 2, reason: 'quota', failures: [failed(0)] });
    expect(next(pinned, 0, 'deprecated')?.position).toBe(2);
    expect(next(pinned, 0, 'rate_limited')).toBeNull();
    expect(next(pinned, 0, null)).toBeNull();
    expect(next({ ...pinned, fallbacks: undefined } as unknown as Definition, 0, 'quota')).toBeNull();
  });

  it('is asked for the reason that began it, if a fallback fails for another one or for none', () => {
    const pinned = definition([['quota'], ['quota'], ['deprecated']]);
    const state = at(1, { failures: [failed(0)] });
    expect(next(pinned, 1, null, state)).toMatchObject({ position: 2, reason: 'quota', failures: [failed(0), failed(1, null)] });
    expect(next(pinned, 2, 'deprecated', at(2, { failures: [failed(0), failed(1, null)] }))?.position).toBe(3);
  });

  it('is asked once a step, and at a later step the run’s own model may be asked again', () => {
    const pinned = definition([['quota'], ['quota']]);
    expect(next(pinned, 2, 'quota', at(2, { failures: [failed(0), failed(1)] }))).toBeNull();
    const later = next(pinned, 2, 'overloaded', at(2, { failures: [failed(0), failed(1)] }), 5);
    // Its key may have been taken away since: the reason that led to it still counts.
    expect(next(pinned, 2, null, at(2), 5)).toMatchObject({ position: 0, reason: 'quota' });
    expect(later).toMatchObject({ position: 0, step: 5, reason: 'overloaded', failures: [failed(2, 'overloaded')] });
    const session = definition([['quota']], { provider: provider('own', { provider_type: 'anthropic' }) });
    expect(next(session, 1, 'quota', at(1), 5)).toBeNull();
  });
});

it('the failure of a step at which all have failed is that of the first, with what each of the others said', () => {
  const pinned = definition([['quota']]);
  const last = { code: 'model_error', message: 'No luck' };
  const state = at(1, { failures: [{ ...failed(0), code: 'quota_exhausted', message: 'No credit' }] });
  const sum = sumFailures(pinned, { position: 1, at: state, step: 2, failure: last });
  expect(sum).toEqual({ code: 'quota_exhausted', message: 'No credit; then model of p1 of name of p1: No luck' });
  expect(sumFailures(pinned, { position: 1, at: state, step: 3, failure: last })).toEqual(last);
});

it('a model is sent only its own additions to replies', () => {
  const message = (step: number, role: string) => ({ step, role, extra: { from: step } });
  const messages = [message(1, 'assistant'), message(1, 'tool'), message(2, 'assistant'), message(3, 'assistant')];
  const extras = (position: number) =>
    leaveOutForeign(messages as never, { position, answered: { 2: 1, 3: 2 } }).map((one: any) => one.extra?.from ?? null);
  expect([0, 1, 2].map(extras)).toEqual([
    [1, 1, null, null],
    [null, 1, 2, null],
    [null, 1, null, 3],
  ]);
});
