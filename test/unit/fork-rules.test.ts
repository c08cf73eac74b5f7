import { describe, expect, it } from 'vitest';
import { forkAnswer, type RecordedCall } from '../../src/domain/fork.ts';

const call = (effect: 'read' | 'idempotent' | 'write', name = 'send', args = '{"to":"a","n":1}') => ({
  name,
  arguments: args,
  effect,
});
const result = (content: string, args = '{"to":"a","n":1}'): RecordedCall => ({
  ...{ name: 'send', arguments: args, content, failed: false },
});
const recorded = [result('first'), result('second'), result('other', '{"to":"b"}')];

describe('under recorded, a fork', () => {
  const asked = (effect: 'read' | 'idempotent' | 'write', earlier: number, args?: string) =>
    forkAnswer(call(effect, 'send', args), {
      ...{ effects: 'recorded' as const, recorded },
      earlier: Array.from({ length: earlier }, () => call('write', 'send', args)),
    });

  it('gets the results of equal calls in their order', () => {
    expect([asked('write', 0), asked('write', 1)].map((answer) => answer?.content)).toEqual(['first', 'second']);
  });

  it('gets its last result once the record is used up', () => {
    expect([asked('write', 2), asked('write', 9)].map((answer) => answer?.content)).toEqual(['second', 'second']);
  });

  it('knows equal arguments in any spelling, and no others', () => {
    expect(asked('write', 0, '{ "n": 1, "to": "a" }')).toMatchObject({ content: 'first', answered_by: 'recorded' });
    expect(asked('write', 0, '{"n":2,"to":"a"}')).toMatchObject({ answered_by: 'refused' });
    expect(asked('write', 0, '{"n":')).toMatchObject({ answered_by: 'refused' });
  });

  it('refuses a write that is not on record', () => {
    expect(asked('write', 0, '{"to":"c"}')).toMatchObject({ failed: true, answered_by: 'refused' });
  });

  it.each(['read', 'idempotent'] as const)('makes a call that is not on record and is %s', (effect) => {
    expect(asked(effect, 0, '{"to":"c"}')).toBeNull();
  });
});

describe('a fork', () => {
  const earlier: never[] = [];
  it.each(['read', 'idempotent', 'write'] as const)('calls nothing under stub: %s', (effect) => {
    const stub = { effects: 'stub' as const, recorded, earlier };
    expect(forkAnswer(call(effect), stub)).toMatchObject({ content: 'first', answered_by: 'recorded' });
    expect(forkAnswer(call(effect, 'unknown'), stub)).toMatchObject({ failed: false, answered_by: 'stub' });
  });

  it.each(['read', 'idempotent', 'write'] as const)('makes every call under live: %s', (effect) => {
    expect(forkAnswer(call(effect), { effects: 'live', recorded, earlier })).toBeNull();
  });
});
